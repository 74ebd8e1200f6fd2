package fence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/podesta-dev/podesta/client/agent"
)

// Header carries the epoch of a request. In a response 412 it is the highest epoch that the
// resource has seen.
const Header = "Podesta-Epoch"

// defaultMaxBytes bounds requests and responses, unless Handler.MaxBytes does.
const defaultMaxBytes = 1 << 20

// Handler passes a request to Next only with an epoch that its gate admits, and runs Next under
// Gate.DoContext, with the epoch in the request's context (EpochOf). Put it before handlers that
// write; those that only read need no fence.
//
// The request is read before the gate is entered, and the response is sent after it was left, so
// that no client can hold up others by pausing half way; hence the bound on both, and no
// streaming. Refusals are a sentence in JSON:
//
//   - 412 Precondition Failed: a stale epoch. The epoch is a condition of the request ("only if
//     nothing higher was seen"), it is false, and nothing was done (RFC 9110 §15.5.13). Not 409,
//     which invites the client to resolve and send again, nor 403, which blames the client.
//     CheckResponse makes a *StaleError of it.
//   - 428 Precondition Required: the request has no epoch (RFC 6585 §3).
//   - 400: the epoch cannot be read, or there are several.
//   - 413: the request is longer than MaxBytes.
//   - 503: the epoch could not be saved, or the client stopped waiting for effects of a lower epoch
//     to end: nothing was done.
//   - 500: Next's response is longer than MaxBytes; its effect is done.
type Handler struct {
	Gate *Gate
	Next http.Handler
	// MaxBytes bounds the body of a request and of a response; 0 means 1 MiB.
	MaxBytes int64
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	epoch, refused := requestEpoch(r)
	if refused == nil && epoch < h.Gate.Seen() { // known before the body is read; DoContext decides
		refused = refuse(&StaleError{Epoch: epoch, Seen: h.Gate.Seen()})
	}
	if refused != nil {
		refused.write(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.maxBytes()))
	if err != nil {
		unreadable(err).write(w)
		return
	}
	r = r.WithContext(WithEpoch(r.Context(), epoch))
	r.Body = io.NopCloser(bytes.NewReader(body))
	given := &answer{
		header: http.Header{},
		status: http.StatusOK,
		left:   h.maxBytes(),
	}
	err = h.Gate.DoContext(r.Context(), epoch, func() error {
		h.Next.ServeHTTP(given, r)
		return nil
	})
	if err != nil {
		refuse(err).write(w)
		return
	}
	given.send(w)
}

func (h *Handler) maxBytes() int64 {
	if h.MaxBytes > 0 {
		return h.MaxBytes
	}
	return defaultMaxBytes
}

// requestEpoch returns the one epoch that a request carries.
func requestEpoch(r *http.Request) (agent.Epoch, *refusal) {
	values := r.Header.Values(Header)
	switch len(values) {
	case 0:
		return 0, &refusal{status: http.StatusPreconditionRequired,
			Error: fmt.Sprintf("send the epoch under which you act in the header %s", Header)}
	case 1:
		epoch, err := parse(values[0])
		if err != nil {
			return 0, refuse(err)
		}
		return epoch, nil
	default:
		return 0, &refusal{
			status: http.StatusBadRequest,
			Error:  fmt.Sprintf("send one %s, not %d", Header, len(values)),
		}
	}
}

// refusal is the response to a request that did nothing.
type refusal struct {
	status int
	Error  string      `json:"error"`
	Epoch  agent.Epoch `json:"epoch,omitempty"`
	Seen   agent.Epoch `json:"seen,omitempty"`
}

// refuse turns the error of a gate into a response.
func refuse(err error) *refusal {
	if stale := (*StaleError)(nil); errors.As(err, &stale) {
		return &refusal{
			status: http.StatusPreconditionFailed,
			Error:  err.Error(),
			Epoch:  stale.Epoch,
			Seen:   stale.Seen,
		}
	}
	if errors.Is(err, ErrNoEpoch) {
		return &refusal{status: http.StatusBadRequest, Error: err.Error()}
	}
	return &refusal{
		status: http.StatusServiceUnavailable,
		Error:  err.Error() + "; nothing was done, try again",
	}
}

func unreadable(err error) *refusal {
	if long := (*http.MaxBytesError)(nil); errors.As(err, &long) {
		return &refusal{
			status: http.StatusRequestEntityTooLarge,
			Error:  fmt.Sprintf("send %d bytes at most", long.Limit),
		}
	}
	return &refusal{
		status: http.StatusBadRequest,
		Error:  "the request could not be read whole: " + err.Error(),
	}
}

func (f *refusal) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if f.Seen != 0 {
		w.Header().Set(Header, strconv.FormatInt(int64(f.Seen), 10))
	}
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(f) // if it fails, the client has gone
}
