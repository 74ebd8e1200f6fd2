package group

import (
	"time"

	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// appHealthOf is how agents are told to ask their apps; zero if they are not to.
func appHealthOf(spec *v1.AppHealth) roster.AppHealth {
	if spec == nil {
		return roster.AppHealth{}
	}
	h := roster.AppHealth{
		Period:           seconds(spec.PeriodSeconds),
		Timeout:          seconds(spec.TimeoutSeconds),
		FailureThreshold: spec.FailureThreshold,
		SuccessThreshold: spec.SuccessThreshold,
	}
	switch {
	case spec.HTTPGet != nil:
		h.Handler, h.Port, h.Path = roster.HTTPGet, spec.HTTPGet.Port, spec.HTTPGet.Path
		if spec.HTTPGet.Scheme == v1.URISchemeHTTPS {
			h.Handler = roster.HTTPSGet
		}
	case spec.TCPSocket != nil:
		h.Handler, h.Port = roster.TCPSocket, spec.TCPSocket.Port
	case spec.GRPC != nil:
		h.Handler, h.Port, h.Service = roster.GRPC, spec.GRPC.Port, ptr.Deref(spec.GRPC.Service, "")
	case spec.Session != nil:
		return roster.AppHealth{Handler: roster.Session}
	default: // a newer definition may know another one
		return roster.AppHealth{}
	}
	return h
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }
