package roster

import (
	"cmp"
	"fmt"
	"time"
)

// fileHealth is the JSON form of an AppHealth, as in the API.
type fileHealth struct {
	HTTPGet          *fileHTTPGet   `json:"httpGet,omitempty"`
	TCPSocket        *fileTCPSocket `json:"tcpSocket,omitempty"`
	GRPC             *fileGRPC      `json:"grpc,omitempty"`
	Session          *struct{}      `json:"session,omitempty"`
	PeriodSeconds    *int64         `json:"periodSeconds,omitempty"`
	TimeoutSeconds   *int64         `json:"timeoutSeconds,omitempty"`
	FailureThreshold *int32         `json:"failureThreshold,omitempty"`
	SuccessThreshold *int32         `json:"successThreshold,omitempty"`
}

type fileHTTPGet struct {
	Scheme string `json:"scheme,omitempty"` // HTTP, also if it is empty, or HTTPS
	Path   string `json:"path,omitempty"`
	Port   int32  `json:"port"`
}

// handler returns the value of AppHealth.Handler; empty: there is no such scheme.
func (f *fileHTTPGet) handler() string {
	switch f.Scheme {
	case "", "HTTP":
		return HTTPGet
	case "HTTPS":
		return HTTPSGet
	default:
		return ""
	}
}

type fileTCPSocket struct {
	Port int32 `json:"port"`
}

type fileGRPC struct {
	Port    int32  `json:"port"`
	Service string `json:"service,omitempty"`
}

// health applies the API's defaults. Roster.Validate checks the rest.
func (f *fileHealth) health() (AppHealth, error) {
	if f == nil {
		return AppHealth{}, nil
	}
	h := AppHealth{
		FailureThreshold: or(f.FailureThreshold, HealthFailureThreshold),
		SuccessThreshold: or(f.SuccessThreshold, HealthSuccessThreshold),
	}
	for _, d := range []struct {
		name    string
		seconds int64
		into    *time.Duration
	}{
		{"periodSeconds", or(f.PeriodSeconds, int64(HealthPeriod/time.Second)), &h.Period},
		{"timeoutSeconds", or(f.TimeoutSeconds, int64(HealthTimeout/time.Second)), &h.Timeout},
	} {
		// larger values might not fit into a time.Duration
		if most := int64(maxInterval / time.Second); d.seconds < 1 || d.seconds > most {
			return h, fmt.Errorf("appHealth.%s %d: must be between 1 and %d", d.name, d.seconds,
				most)
		}
		*d.into = time.Duration(d.seconds) * time.Second
	}
	handlers := 0
	if f.HTTPGet != nil {
		handlers++
		h.Handler, h.Port, h.Path = f.HTTPGet.handler(), f.HTTPGet.Port, cmp.Or(f.HTTPGet.Path, "/")
		if h.Handler == "" {
			return h, fmt.Errorf("appHealth.httpGet.scheme %q: must be HTTP or HTTPS", f.HTTPGet.Scheme)
		}
	}
	if f.TCPSocket != nil {
		handlers++
		h.Handler, h.Port = TCPSocket, f.TCPSocket.Port
	}
	if f.GRPC != nil {
		handlers++
		h.Handler, h.Port, h.Service = GRPC, f.GRPC.Port, f.GRPC.Service
	}
	if f.Session != nil {
		handlers++
		h = AppHealth{Handler: Session}
	}
	if handlers != 1 {
		return h, fmt.Errorf("appHealth sets %d of httpGet, tcpSocket, grpc and session: it must set "+
			"exactly one", handlers)
	}
	return h, nil
}

// fileHealthOf returns nil if every app counts as healthy, so that the file does not mention it.
func fileHealthOf(h AppHealth) *fileHealth {
	if h.Handler == Session {
		return &fileHealth{Session: &struct{}{}}
	}
	period, timeout := int64(h.Period/time.Second), int64(h.Timeout/time.Second)
	f := &fileHealth{
		PeriodSeconds:    &period,
		TimeoutSeconds:   &timeout,
		FailureThreshold: &h.FailureThreshold,
		SuccessThreshold: &h.SuccessThreshold,
	}
	switch h.Handler {
	case HTTPGet:
		f.HTTPGet = &fileHTTPGet{Path: h.Path, Port: h.Port}
	case HTTPSGet:
		f.HTTPGet = &fileHTTPGet{Scheme: "HTTPS", Path: h.Path, Port: h.Port}
	case TCPSocket:
		f.TCPSocket = &fileTCPSocket{Port: h.Port}
	case GRPC:
		f.GRPC = &fileGRPC{Port: h.Port, Service: h.Service}
	default:
		return nil
	}
	return f
}

func or[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}
