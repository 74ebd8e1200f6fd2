package group

import (
	"testing"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// How apps are asked is told to the agents, and is no new roster: that would give the coordinator a
// new epoch.
func TestAppHealthIsToldWithoutANewGeneration(t *testing.T) {
	spec := v1.AppHealth{
		PeriodSeconds:    3,
		TimeoutSeconds:   2,
		FailureThreshold: 4,
		SuccessThreshold: 5,
	}
	told := roster.AppHealth{
		Period:           3 * time.Second,
		Timeout:          2 * time.Second,
		FailureThreshold: 4,
		SuccessThreshold: 5,
	}
	http, https, tcp, grpc, named, session := spec, spec, spec, spec, spec, spec
	http.HTTPGet = &v1.HTTPGetAction{Path: "/healthz", Port: 8080}
	https.HTTPGet = &v1.HTTPGetAction{Scheme: v1.URISchemeHTTPS, Path: "/healthz", Port: 8443}
	tcp.TCPSocket = &v1.TCPSocketAction{Port: 5432}
	grpc.GRPC = &v1.GRPCAction{Port: 9090}
	named.GRPC = &v1.GRPCAction{Port: 9090, Service: new("shop")}
	session.Session = &v1.SessionAction{}
	toldAt := func(handler string, port int32, path, service string) roster.AppHealth {
		h := told
		h.Handler, h.Port, h.Path, h.Service = handler, port, path, service
		return h
	}
	for name, s := range map[string]*scene{"Classic": newScene(3), "Guarded": voting(3)} {
		s.pass()
		before := *s.observation.published.Roster
		for _, edit := range []struct {
			spec *v1.AppHealth
			told roster.AppHealth
		}{
			{&http, toldAt(roster.HTTPGet, 8080, "/healthz", "")},
			{&https, toldAt(roster.HTTPSGet, 8443, "/healthz", "")},
			{&tcp, toldAt(roster.TCPSocket, 5432, "", "")},
			{&grpc, toldAt(roster.GRPC, 9090, "", "")},
			{&named, toldAt(roster.GRPC, 9090, "", "shop")},
			{&session, roster.AppHealth{Handler: roster.Session}},
			{nil, roster.AppHealth{}},
		} {
			s.later(time.Minute)
			s.group.Spec.AppHealth = edit.spec
			d := s.pass()
			if d.roster.AppHealth != edit.told || d.roster.Validate() != nil {
				t.Errorf("%s: told %+v (%v), want %+v", name, d.roster.AppHealth,
					d.roster.Validate(), edit.told)
			}
			if d.record != nil || d.roster.Generation != before.Generation {
				t.Errorf("%s: %+v makes generation %d of %d, persisted: %v", name, edit.told,
					d.roster.Generation, before.Generation, d.record)
			}
		}
	}
}
