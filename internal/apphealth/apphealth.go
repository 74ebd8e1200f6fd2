// Package apphealth probes the app beside the agent by HTTP or HTTPS, by TCP, or by the gRPC health
// checking protocol. A process whose app is unhealthy is not a candidate. It becomes one again when
// the app has been healthy for a while, so that an app that keeps failing and recovering costs its
// group one change of coordinator and not many.
//
// An app that answers its probe is not proven to do its work; the package does not promise that.
package apphealth

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
)

// Check probes the app once. It returns nil if the app is healthy.
type Check func(ctx context.Context) error

// Probe is a Check with its schedule and its thresholds.
type Probe struct {
	Check Check
	// Period is the time between two probes, Timeout the time within which the app must answer.
	Period, Timeout time.Duration
	// The number of consecutive failures that make the app unhealthy, and of consecutive successes
	// that make it healthy again.
	FailureThreshold, SuccessThreshold int
}

// Parse returns the probe that a URL describes: http://HOST:PORT/PATH or the same with https (a
// status of 200 to 399 is healthy), tcp://HOST:PORT (accepting a connection is healthy) or
// grpc://HOST:PORT/SERVICE (SERVING is healthy; without SERVICE the health of the whole server is
// requested). Its schedule and thresholds are the defaults of a roster.
func Parse(text string) (Probe, error) {
	p := Probe{
		Period:           roster.HealthPeriod,
		Timeout:          roster.HealthTimeout,
		FailureThreshold: roster.HealthFailureThreshold,
		SuccessThreshold: roster.HealthSuccessThreshold,
	}
	u, err := url.Parse(text)
	if err != nil {
		return p, err
	}
	if host, port, err := net.SplitHostPort(u.Host); err != nil || host == "" || port == "" {
		return p, fmt.Errorf("%q: must name HOST:PORT, as in http://127.0.0.1:8080/healthz", text)
	}
	switch u.Scheme {
	case "http", "https":
		p.Check = httpCheck(u.String())
	case "tcp":
		p.Check = tcpCheck(u.Host)
	case "grpc":
		p.Check = grpcCheck(u.Host, strings.TrimPrefix(u.Path, "/"))
	default:
		return p, fmt.Errorf("%q: must begin with http://, https://, tcp:// or grpc://", text)
	}
	return p, nil
}

// At returns the probe that a valid roster describes, at the host on which the agent serves its own
// app; nil if the app is not probed. Nothing in the roster can direct it to another host: neither
// the path nor the app's answers.
func At(host string, h roster.AppHealth) *Probe {
	address := net.JoinHostPort(host, strconv.Itoa(int(h.Port)))
	p := &Probe{
		Period:           h.Period,
		Timeout:          h.Timeout,
		FailureThreshold: int(h.FailureThreshold),
		SuccessThreshold: int(h.SuccessThreshold),
	}
	switch h.Handler {
	case roster.HTTPGet, roster.HTTPSGet:
		u, err := url.ParseRequestURI(h.Path)
		if err != nil {
			return nil // impossible with a valid roster
		}
		scheme := "http"
		if h.Handler == roster.HTTPSGet {
			scheme = "https"
		}
		p.Check = httpCheck((&url.URL{
			Scheme:   scheme,
			Host:     address,
			Path:     u.Path,
			RawPath:  u.RawPath,
			RawQuery: u.RawQuery,
		}).String())
	case roster.TCPSocket:
		p.Check = tcpCheck(address)
	case roster.GRPC:
		p.Check = grpcCheck(address, h.Service)
	default:
		return nil
	}
	return p
}

// mostHeaders is how many bytes of headers an app may answer with.
const mostHeaders = 16 << 10

// ask sends the app a request, and has its answer read. It does so over a connection of its own,
// which is made once and ends with the request's context at the latest, whatever the app sends: a
// client of net/http would go on dialing, or dial again. There is no proxy.
func ask(
	transport *http.Transport, request *http.Request, read func(*http.Response) error,
) (err error) {
	defer func() {
		if err != nil {
			err = reason{err}
		}
	}()
	ctx := request.Context()
	conn, err := transport.NewClientConn(ctx, request.URL.Scheme, request.URL.Host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // it also ends what is being read
	response, err := conn.RoundTrip(request)
	if err == nil {
		err = read(response)
		_ = response.Body.Close()
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// reason is why an app is not healthy. It may have in it what the app has sent, and goes to the
// log, so its text is cut.
type reason struct{ error }

func (r reason) Error() string { return fmt.Sprintf("%.200s", r.error.Error()) }

func (r reason) Unwrap() error { return r.error }

func tcpCheck(address string) Check {
	return func(ctx context.Context) error {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return c.Close()
	}
}
