package group

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// status is a view in short: "a:Normal b:Coordinator".
func status(short string) v1.ElectionGroupStatus {
	var s v1.ElectionGroupStatus
	for _, field := range strings.Fields(short) {
		name, state, _ := strings.Cut(field, ":")
		s.Processes = append(s.Processes,
			v1.ProcessStatus{Name: name, State: v1.ProcessState(state)})
		if state == "Coordinator" {
			s.Coordinator = &v1.CoordinatorStatus{Name: name, Priority: new(int32(3))}
		}
	}
	return s
}

func TestViewEvents(t *testing.T) {
	for _, test := range []struct{ name, was, is, want string }{
		{"nothing", "a:Normal b:Coordinator", "a:Normal b:Coordinator", ""},
		{"the first coordinator", "a:Unknown b:Unknown", "a:Normal b:Coordinator",
			"CoordinatorElected b (priority 3) is the coordinator"},
		{"failover", "a:Normal b:Coordinator", "a:Coordinator b:Crashed",
			"ProcessCrashed b has crashed; CoordinatorLost b is no longer the coordinator: its state is Crashed; CoordinatorElected a (priority 3) is the coordinator"},
		{"lost, none yet", "a:Normal b:Coordinator", "a:Normal b:Crashed",
			"ProcessCrashed b has crashed; CoordinatorLost b is no longer the coordinator: its state is Crashed"},
		{"a higher one takes over", "a:Coordinator b:Crashed", "a:Normal b:Coordinator",
			"ProcessRecovered b has recovered; CoordinatorLost a is no longer the coordinator: its state is Normal; CoordinatorElected b (priority 3) is the coordinator"},
		{"the coordinator's pod is gone", "a:Normal b:Coordinator", "a:Coordinator",
			"CoordinatorLost b is no longer the coordinator: its pod is gone; CoordinatorElected a (priority 3) is the coordinator"},
		{"out of sight is no news", "a:Normal b:Coordinator", "a:Unknown b:Coordinator", ""},
		{"out of sight, then crashed", "a:Unknown b:Coordinator", "a:Crashed b:Coordinator", "ProcessCrashed a has crashed"},
		{"a row that appears is no crash", "b:Coordinator", "a:Crashed b:Coordinator", ""},
		{"many at once are one event", "a:Normal b:Normal c:Normal d:Normal e:Normal f:Normal g:Normal",
			"a:Crashed b:Crashed c:Crashed d:Crashed e:Crashed f:Crashed g:Crashed",
			"ProcessCrashed a, b, c, d, e and 2 more have crashed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := tell(statusEvents(status(test.was), status(test.is), nil)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func tell(all []notification) string {
	var some []string
	for _, n := range all {
		some = append(some, fmt.Sprintf("%s %s", n.reason, n.note))
	}
	return strings.Join(some, "; ")
}

func TestElectionNote(t *testing.T) {
	s := status("a:Coordinator")
	s.Elections = []v1.ElectionStatus{{
		To:                   "a",
		Initiator:            "b",
		Reason:               "CoordinatorUnreachable",
		Messages:             new(int32(4)),
		DurationMilliseconds: new(int64(3)),
	}, {To: "b", Messages: new(int32(9))}}
	if got, want := electionNote(s), "a (priority 3) is the coordinator: elected in 3 ms with 4 messages, started by b (CoordinatorUnreachable)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Elections[0] = v1.ElectionStatus{To: "a"}
	if got, want := electionNote(s), "a (priority 3) is the coordinator"; got != want {
		t.Errorf("nobody has told yet: got %q, want %q", got, want)
	}
}

func TestRosterEvent(t *testing.T) {
	members := func(names string) *v1.RosterStatus {
		r := &v1.RosterStatus{Generation: 7}
		for _, n := range strings.Fields(names) {
			r.Members = append(r.Members, v1.RosterMember{Name: n[:1], UID: types.UID(n)})
		}
		return r
	}
	for _, test := range []struct {
		was, is *v1.RosterStatus
		want    string
	}{
		{nil, members("a b"), "RosterChanged added a, b: the group has 2 processes (roster generation 7)"},
		{members("a b"), members("b c"), "RosterChanged added c, removed a: the group has 2 processes (roster generation 7)"},
		{members("a b"), members("a b2"), "RosterChanged added b, removed b: the group has 2 processes (roster generation 7)"},
		{members("a b"), members("a b"), ""}, // an address or a priority changed
	} {
		if got := tell(rosterEvents(test.was, test.is, false)); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
