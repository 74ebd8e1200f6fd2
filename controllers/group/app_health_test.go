package group

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

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

// Agents are told whether an app has a session whose process could coordinate. That makes no
// generation. While a manager that starts does not know, it says so.
func TestSessionsAreToldWithoutANewGeneration(t *testing.T) {
	for _, step := range []struct {
		what string
		do   func(*scene)
		told roster.Sessions
	}{
		{"nobody has one", func(*scene) {}, roster.SessionsAsBefore},
		{"one has", func(s *scene) { s.session(0) }, roster.SessionsOpen},
		{"another waits for one", func(s *scene) { s.session(0).waits(1) }, roster.SessionsOpen},
		{"all wait for one", func(s *scene) { s.waits(0, 1, 2) }, roster.SessionsNone},
		{"it rests", func(s *scene) { s.session(0).hinders(roster.NotCandidateResting, 0).waits(1) },
			roster.SessionsOpen},
		{"its app is unhealthy", func(s *scene) {
			s.session(0).hinders(roster.NotCandidateUnhealthy, 0).waits(1)
		}, roster.SessionsNone},
		{"it never coordinates", func(s *scene) {
			s.session(0).hinders(roster.NotCandidatePriorityZero, 0).waits(1)
		}, roster.SessionsNone},
		{"its connection has broken", func(s *scene) {
			s.session(0).waits(1).loses(0, 300*time.Millisecond)
		}, roster.SessionsOpen},
		{"it has been away for long", func(s *scene) { s.session(0).waits(1).loses(0, time.Minute) },
			roster.SessionsNone},
		{"a manager starts", func(s *scene) { s.starts().sees("", 1).waits(1) },
			roster.SessionsAsBefore},
		{"it has waited", func(s *scene) { s.starts().sees("", 1).waits(1).later(time.Minute) },
			roster.SessionsNone},
		{"it hears of one", func(s *scene) { s.starts().sees("", 1).session(1) },
			roster.SessionsOpen},
		{"it hears all", func(s *scene) { s.starts().sees("", 0, 1, 2).waits(1) },
			roster.SessionsNone},
	} {
		s := voting(3)
		before := s.observation.published.Roster.Generation
		step.do(s)
		d := s.pass()
		if d.roster == nil || d.roster.Sessions != step.told || d.roster.Generation != before {
			t.Errorf("%s: told %+v, want %d in generation %d", step.what, d.roster, step.told, before)
		}
	}
}

// session has an agent report that its app has a session.
func (s *scene) session(pod int) *scene {
	s.edit(pod, func(r *roster.Report) { r.Session = true })
	return s
}

// waits has agents report that their processes are no candidates for want of a session.
func (s *scene) waits(pods ...int) *scene { return s.hinders(roster.NotCandidateNoSession, pods...) }

// starts has another manager begin, to which nobody has reported.
func (s *scene) starts() *scene {
	s.inherited, s.sightings = true, map[types.UID]roster.Sighting{}
	return s.restarted()
}
