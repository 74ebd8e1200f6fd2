package roster

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// The limits of an AppHealth, which are those of the API.
const (
	maxPath      = 1024
	maxService   = 253
	minInterval  = time.Second
	maxInterval  = 5 * time.Minute
	maxThreshold = 100
)

// The defaults of an AppHealth, which are those of the API. Two consecutive failures make an app
// unhealthy, because a single one may be an accident. Ten consecutive successes make it healthy
// again, so that an app that keeps failing and recovering costs its group one change of coordinator
// and not many.
const (
	HealthPeriod           = time.Second
	HealthTimeout          = time.Second
	HealthFailureThreshold = 2
	HealthSuccessThreshold = 10
)

// The values of AppHealth.Handler.
const (
	HTTPGet   = "HTTPGet"
	HTTPSGet  = "HTTPSGet" // the same by TLS
	TCPSocket = "TCPSocket"
	GRPC      = "GRPC"
	Session   = "Session"
)

// AppHealth describes how each agent sees whether the app in its own pod works: it probes the app,
// or the app has a session with it (then there is nothing beside the Handler). With the zero value
// every app counts as healthy.
//
// It must never name a host: a user who may edit a group could otherwise make all agents of the
// group send requests, in their name, to whatever their pods can reach (request forgery).
type AppHealth struct {
	Handler string // HTTPGet, HTTPSGet, TCPSocket, GRPC or Session
	Port    int32
	Path    string // for HTTPGet and HTTPSGet, including the query
	Service string // for GRPC: the service in the health check request; empty for the whole server

	// the time between two probes, and how long the app may take to answer one
	Period, Timeout  time.Duration
	FailureThreshold int32 // consecutive failures that make the app unhealthy
	SuccessThreshold int32 // consecutive successes that make it healthy again
}

func (h AppHealth) validate() error {
	if h == (AppHealth{}) || h == (AppHealth{Handler: Session}) {
		return nil
	}
	if h.Port < 1 || h.Port > 65535 {
		return fmt.Errorf("appHealth: port %d: must be between 1 and 65535", h.Port)
	}
	for name, d := range map[string]time.Duration{"period": h.Period, "timeout": h.Timeout} {
		if d < minInterval || d > maxInterval {
			return fmt.Errorf("appHealth: %s %v: must be between %v and %v", name, d, minInterval,
				maxInterval)
		}
	}
	for name, n := range map[string]int32{
		"failureThreshold": h.FailureThreshold,
		"successThreshold": h.SuccessThreshold,
	} {
		if n < 1 || n > maxThreshold {
			return fmt.Errorf("appHealth: %s %d: must be between 1 and %d", name, n, maxThreshold)
		}
	}
	return h.validateHandler()
}

func (h AppHealth) validateHandler() error {
	switch h.Handler {
	case HTTPGet, HTTPSGet:
		if _, err := url.ParseRequestURI(h.Path); err != nil || h.Path[0] != '/' ||
			len(h.Path) > maxPath || !isPrintable(h.Path) {
			return fmt.Errorf("appHealth: path %q: must start with / and be a valid URL path in "+
				"ASCII without spaces, at most %d bytes", h.Path, maxPath)
		}
	case TCPSocket:
	case GRPC:
		if len(h.Service) > maxService || !isPrintable(h.Service) {
			return fmt.Errorf("appHealth: service %q: must be printable ASCII without spaces, at "+
				"most %d bytes", h.Service, maxService)
		}
	default:
		return errors.New("appHealth: set one of httpGet, tcpSocket, grpc and session (which has no " +
			"port)")
	}
	return nil
}

func isPrintable(s string) bool {
	return all(s, func(c byte) bool { return c > ' ' && c <= '~' })
}

//nolint:gosec // a valid roster's milliseconds fit: minutes at most
//nolint:gosec // a valid roster's milliseconds fit: minutes at most
func healthToWire(h AppHealth) *rosterpb.AppHealth {
	w := &rosterpb.AppHealth{
		PeriodMilliseconds:  int32(h.Period.Milliseconds()),
		TimeoutMilliseconds: int32(h.Timeout.Milliseconds()),
		FailureThreshold:    h.FailureThreshold,
		SuccessThreshold:    h.SuccessThreshold,
	}
	switch h.Handler {
	case HTTPGet, HTTPSGet:
		w.Handler = &rosterpb.AppHealth_HttpGet{HttpGet: &rosterpb.HTTPGet{
			Path: h.Path,
			Port: h.Port,
			Tls:  h.Handler == HTTPSGet,
		}}
	case TCPSocket:
		w.Handler = &rosterpb.AppHealth_TcpSocket{TcpSocket: &rosterpb.TCPSocket{Port: h.Port}}
	case GRPC:
		w.Handler = &rosterpb.AppHealth_Grpc{Grpc: &rosterpb.GRPCHealth{
			Service: h.Service,
			Port:    h.Port,
		}}
	case Session:
		return &rosterpb.AppHealth{Handler: &rosterpb.AppHealth_Session{Session: &rosterpb.Session{}}}
	default:
		return nil
	}
	return w
}

// healthFromWire treats a handler that only a newer manager knows as none.
func healthFromWire(w *rosterpb.AppHealth) AppHealth {
	h := AppHealth{
		Period:           time.Duration(w.GetPeriodMilliseconds()) * time.Millisecond,
		Timeout:          time.Duration(w.GetTimeoutMilliseconds()) * time.Millisecond,
		FailureThreshold: w.GetFailureThreshold(),
		SuccessThreshold: w.GetSuccessThreshold(),
	}
	switch handler := w.GetHandler().(type) {
	case *rosterpb.AppHealth_HttpGet:
		h.Handler, h.Path, h.Port = HTTPGet, handler.HttpGet.GetPath(), handler.HttpGet.GetPort()
		if handler.HttpGet.GetTls() {
			h.Handler = HTTPSGet
		}
	case *rosterpb.AppHealth_TcpSocket:
		h.Handler, h.Port = TCPSocket, handler.TcpSocket.GetPort()
	case *rosterpb.AppHealth_Grpc:
		h.Handler, h.Service, h.Port = GRPC, handler.Grpc.GetService(), handler.Grpc.GetPort()
	case *rosterpb.AppHealth_Session:
		return AppHealth{Handler: Session}
	default:
		return AppHealth{}
	}
	return h
}
