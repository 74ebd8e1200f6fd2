package membership

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// noon is when these tests begin: 10 days after generations began to be counted.
var noon = GenerationsBegin.Add(10 * 24 * time.Hour)

const second = time.Second

// scene is a manager and the facts that it sees of a Guarded group with the pods p-0, p-1, …, whose
// priorities are 1, 2, ….
type scene struct {
	Facts

	state State
}

// newScene returns a group whose pods have not joined yet.
func newScene(pods int) *scene {
	s := &scene{Facts: Facts{
		Now:         noon,
		ClockAgrees: true,
		Begun:       noon.Add(-time.Hour),
		Guarded:     true,
		Lease:       second,
		Settings:    "bully",
	}}
	for i := range pods {
		s.Pods = append(s.Pods, podNumber(i))
	}
	return s
}

func podNumber(i int) Pod {
	return Pod{
		Name:     fmt.Sprintf("p-%d", i),
		UID:      fmt.Sprintf("uid-%d", i),
		Address:  fmt.Sprintf("10.0.0.%d:4041", i),
		Priority: int32(i + 1),
	}
}

// voting returns a group of voters that have all used the newest roster for a long time.
func voting(pods int) *scene {
	s := newScene(pods)
	for i := range pods {
		s.joins(i)
	}
	s.pass()
	s.acknowledge()
	s.pass()
	s.acknowledge()
	s.later(time.Minute)
	s.pass()
	return s
}

// joins has the agents of these pods connected, for a minute.
func (s *scene) joins(pods ...int) *scene {
	for _, i := range pods {
		s.set(
			Report{
				UID:       s.Pods[i].UID,
				StateID:   "m",
				Connected: true,
				Since:     noon.Add(-time.Minute),
			},
		)
	}
	return s
}

// set replaces the report of a pod.
func (s *scene) set(r Report) {
	if old := s.report(r.UID); old != nil {
		*old = r
		return
	}
	s.Reports = append(s.Reports, r)
}

// unseen drops the report of a pod.
func (s *scene) unseen(uid string) {
	kept := s.Reports[:0]
	for _, r := range s.Reports {
		if r.UID != uid {
			kept = append(kept, r)
		}
	}
	s.Reports = kept
}

// loses has the subscription of a pod's agent ended that long ago.
func (s *scene) loses(pod int, ago time.Duration) *scene {
	r := s.report(s.Pods[pod].UID)
	r.Connected, r.Since = false, s.Now.Add(-ago)
	return s
}

// edit changes what a pod's agent reports.
func (s *scene) edit(pod int, edit func(*Report)) { edit(s.report(s.Pods[pod].UID)) }

// drop has the pods from that one on deleted from the API.
func (s *scene) drop(from int) { s.Pods = s.Pods[:from:from] }

// pass is a pass of the manager, which succeeds in persisting what it decides.
func (s *scene) pass() Decision {
	state, d := Step(s.state, &s.Facts)
	if d.Persist {
		state = state.Persisted(d.Roster)
		s.Roster = d.Roster
	}
	s.state = state
	return d
}

func (s *scene) later(d time.Duration) { s.Now = s.Now.Add(d) }

// acknowledge has all agents that are connected use the newest roster.
func (s *scene) acknowledge() {
	for i := range s.Reports {
		if s.Reports[i].Connected {
			s.Reports[i].Generation = s.Roster.Generation
		}
	}
}

// voters are the names of the voters on the persisted roster.
func (s *scene) voters() string { return votersOn(s.Roster) }

func votersOn(r *Roster) string {
	var names []string
	if r != nil {
		for _, m := range r.Members {
			if m.Voter {
				names = append(names, m.Name)
			}
		}
	}
	return strings.Join(names, " ")
}

// persisted changes what is persisted of a member.
func (s *scene) persisted(name string, edit func(*Member)) {
	r := *s.Roster
	r.Members = append([]Member(nil), r.Members...)
	for i := range r.Members {
		if r.Members[i].Name == name {
			edit(&r.Members[i])
		}
	}
	s.Roster = &r
}

func (s *scene) member(t *testing.T, name string) Member {
	t.Helper()
	for _, m := range s.Roster.Members {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no member %s", name)
	return Member{}
}

// ends has the kubelet report that a pod is over.
func (s *scene) ends(uid string) { s.Ended = append(s.Ended, EndedPod{UID: uid, At: s.Now}) }

// deletes has the deletion of a pod begin, with a grace period.
func (s *scene) deletes(pod int, began time.Time, grace time.Duration) {
	s.Pods[pod].DeletionBegan, s.Pods[pod].DeletionDue = began, began.Add(grace)
}

// told is the roster as agents are told it: "p-0:1 p-1:2+", + for a voter.
func told(d Decision) string {
	var all []string
	for _, m := range d.Roster.Members {
		all = append(all,
			fmt.Sprintf("%s:%d%s", m.Name, m.Priority, map[bool]string{true: "+"}[m.Voter]))
	}
	return strings.Join(all, " ")
}
