package roster

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// Bounds of an AppHealth; the same as the API's.
const (
	maxPath      = 1024
	maxService   = 253
	minInterval  = time.Second
	maxInterval  = 5 * time.Minute
	maxThreshold = 100
)

// What an app's health is by default: the same as the API's. To be ill takes two answers in a row, for one may be an accident;
// to be well again takes ten, so that an app which flaps costs its group one change of coordinator and not many.
const (
	HealthPeriod           = time.Second
	HealthTimeout          = time.Second
	HealthFailureThreshold = 2
	HealthSuccessThreshold = 10
)

// What an AppHealth's Handler may be.
const (
	HTTPGet   = "HTTPGet"
	TCPSocket = "TCPSocket"
	GRPC      = "GRPC"
)

// AppHealth says how each agent asks whether the app in its own pod is well. The zero value: it does not ask.
//
// It names no host, and must never do: what a group's editor writes would make all agents of the group ask whatever their
// pods can reach, in their name (request forgery).
type AppHealth struct {
	Handler string // HTTPGet, TCPSocket or GRPC
	Port    int32
	Path    string // HTTPGet: with its query, if there is one
	Service string // GRPC: what to ask the health protocol for; empty: the server as a whole

	Period, Timeout  time.Duration // how often it is asked, and within what time it is to answer
	FailureThreshold int32         // this many bad answers in a row: it is ill
	SuccessThreshold int32         // this many good answers in a row: it is well again
}

func (h AppHealth) validate() error {
	if h == (AppHealth{}) {
		return nil
	}
	if h.Port < 1 || h.Port > 65535 {
		return fmt.Errorf("appHealth: port %d: must be between 1 and 65535", h.Port)
	}
	for name, d := range map[string]time.Duration{"period": h.Period, "timeout": h.Timeout} {
		if d < minInterval || d > maxInterval {
			return fmt.Errorf("appHealth: %s %v: must be between %v and %v", name, d, minInterval, maxInterval)
		}
	}
	for name, n := range map[string]int32{"failureThreshold": h.FailureThreshold, "successThreshold": h.SuccessThreshold} {
		if n < 1 || n > maxThreshold {
			return fmt.Errorf("appHealth: %s %d: must be between 1 and %d", name, n, maxThreshold)
		}
	}
	return h.validateHandler()
}

func (h AppHealth) validateHandler() error {
	switch h.Handler {
	case HTTPGet:
		if _, err := url.ParseRequestURI(h.Path); err != nil || h.Path[0] != '/' || len(h.Path) > maxPath || !isPrintable(h.Path) {
			return fmt.Errorf("appHealth: path %q: must begin with / and be a URL's path without blanks, at most %d bytes", h.Path, maxPath)
		}
	case TCPSocket:
	case GRPC:
		if len(h.Service) > maxService || !isPrintable(h.Service) {
			return fmt.Errorf("appHealth: service %q: must be ASCII without blanks, at most %d bytes", h.Service, maxService)
		}
	default:
		return errors.New("appHealth: name one of httpGet, tcpSocket and grpc")
	}
	return nil
}

func isPrintable(s string) bool {
	return all(s, func(c byte) bool { return c > ' ' && c <= '~' })
}

//nolint:gosec // a valid roster's milliseconds fit: minutes at most
func healthToWire(h AppHealth) *rosterpb.AppHealth {
	w := &rosterpb.AppHealth{PeriodMilliseconds: int32(h.Period.Milliseconds()), TimeoutMilliseconds: int32(h.Timeout.Milliseconds()),
		FailureThreshold: h.FailureThreshold, SuccessThreshold: h.SuccessThreshold}
	switch h.Handler {
	case HTTPGet:
		w.Handler = &rosterpb.AppHealth_HttpGet{HttpGet: &rosterpb.HTTPGet{Path: h.Path, Port: h.Port}}
	case TCPSocket:
		w.Handler = &rosterpb.AppHealth_TcpSocket{TcpSocket: &rosterpb.TCPSocket{Port: h.Port}}
	case GRPC:
		w.Handler = &rosterpb.AppHealth_Grpc{Grpc: &rosterpb.GRPCHealth{Service: h.Service, Port: h.Port}}
	default:
		return nil
	}
	return w
}

// healthFromWire takes a handler that a newer manager may know for none.
func healthFromWire(w *rosterpb.AppHealth) AppHealth {
	h := AppHealth{Period: time.Duration(w.GetPeriodMilliseconds()) * time.Millisecond,
		Timeout:          time.Duration(w.GetTimeoutMilliseconds()) * time.Millisecond,
		FailureThreshold: w.GetFailureThreshold(), SuccessThreshold: w.GetSuccessThreshold()}
	switch handler := w.GetHandler().(type) {
	case *rosterpb.AppHealth_HttpGet:
		h.Handler, h.Path, h.Port = HTTPGet, handler.HttpGet.GetPath(), handler.HttpGet.GetPort()
	case *rosterpb.AppHealth_TcpSocket:
		h.Handler, h.Port = TCPSocket, handler.TcpSocket.GetPort()
	case *rosterpb.AppHealth_Grpc:
		h.Handler, h.Service, h.Port = GRPC, handler.Grpc.GetService(), handler.Grpc.GetPort()
	default:
		return AppHealth{}
	}
	return h
}
