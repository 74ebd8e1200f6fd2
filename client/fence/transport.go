package fence

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/podesta-dev/podesta/client/agent"
)

// SetEpoch makes a request carry the epoch under which its work began.
func SetEpoch(req *http.Request, epoch agent.Epoch) {
	req.Header.Set(Header, strconv.FormatInt(int64(epoch), 10))
}

// Transport sends the epoch of a request's context (WithEpoch) along with it. A request that has
// none, from SetEpoch neither, is not sent (ErrNoEpoch). Responses are passed on as they are: see
// CheckResponse.
type Transport struct {
	Base http.RoundTripper // nil means http.DefaultTransport
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if epoch, ok := EpochOf(req.Context()); ok {
		req = req.Clone(req.Context()) // a RoundTripper leaves its request as it was
		SetEpoch(req, epoch)
	} else if req.Header.Get(Header) == "" {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper closes the body, also when it fails
		}
		return nil, fmt.Errorf("the request is not sent, its context has %w", ErrNoEpoch)
	}
	return t.base().RoundTrip(req)
}

// CloseIdleConnections passes http.Client's call on.
func (t Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// CheckResponse returns a *StaleError if a Handler refused the request for its epoch, else nil. It
// leaves the body alone. A 412 without the header comes from somebody else's precondition.
func CheckResponse(resp *http.Response) error {
	if resp.StatusCode != http.StatusPreconditionFailed {
		return nil
	}
	seen, err := parse(resp.Header.Get(Header))
	if err != nil {
		return nil //nolint:nilerr // not our header, so not our response
	}
	stale := &StaleError{Seen: seen}
	if resp.Request != nil {
		stale.Epoch, _ = parse(resp.Request.Header.Get(Header)) // 0 if somebody removed it
	}
	return stale
}
