package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/trace"
	"github.com/podesta-dev/podesta/test/bubble"
)

// tracedGroups are the groups of testdata/trace: one whose agents tell, one whose agents nobody may
// ask, one of an old release, and one that has no status yet.
func tracedGroups(t *testing.T) []client.Object {
	t.Helper()
	text, err := os.ReadFile("testdata/trace/scheduler.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []client.Object
	for _, namespace := range []string{"prod", "norights", "old", "fresh", "hostile"} {
		g := &v1.ElectionGroup{}
		if err := yaml.UnmarshalStrict(text, g); err != nil {
			t.Fatal(err)
		}
		g.Namespace, g.ResourceVersion = namespace, ""
		switch namespace {
		case "old":
			g.Status.Elections = nil
		case "fresh":
			g.Status = v1.ElectionGroupStatus{}
		}
		all = append(all, g)
	}
	return all
}

// tellingAgents are the agents of those groups.
func tellingAgents(_ context.Context, namespace, pod string, _ int) (trace.Accounts, error) {
	switch namespace {
	case "norights":
		return trace.Accounts{}, errNoRight
	case "old":
		return trace.Accounts{}, &agentError{404}
	case "hostile":
		evil := "\x1b[2J\u202e" + pod
		return trace.Accounts{Process: pod, Group: evil, Elections: []trace.Account{{
			ID:          evil,
			Coordinator: evil,
			Initiator:   evil,
			Reason:      evil,
			Algorithm:   evil,
			Messages: []trace.Message{{From: pod, To: evil, Kind: evil, Process: evil},
				{From: evil, To: evil}},
		}}}, nil
	}
	file, err := os.Open("testdata/trace/accounts/" + pod + ".json")
	if err != nil {
		return trace.Accounts{}, errors.New("there is no such pod")
	}
	defer file.Close()
	return trace.Read(file)
}

// TestTraceGolden runs the command lines in testdata/trace. -rewrite writes what they print.
func TestTraceGolden(t *testing.T) {
	in := around(fakeCluster(t, interceptor.Funcs{}, tracedGroups(t)...))
	run := func(t *testing.T, d *datadriven.TestData) string { return golden(t, in, d.Input) }
	datadriven.RunTest(t, "testdata/trace/golden.txt", run)
}

// TestTracePrintsNothingUnprintable: whatever agents tell, no output has a character that is not
// printable, besides line ends.
func TestTracePrintsNothingUnprintable(t *testing.T) {
	in := around(fakeCluster(t, interceptor.Funcs{}, tracedGroups(t)...))
	for _, format := range []string{"", " -o json", " -o yaml", " -o svg"} {
		said := golden(t, in, "trace scheduler -n hostile"+format)
		if !strings.Contains(said, `\x1b`) {
			t.Errorf("%s: the hostile text is not there:\n%s", format, said)
		}
		for _, r := range said {
			if r < ' ' && r != '\n' || r == 0x202e {
				t.Errorf("%s: prints %U:\n%q", format, r, said)
				break
			}
		}
	}
}

// A status can have any text for the name of a process, too.
func TestNamesOfSilentProcessesArePrintable(t *testing.T) {
	input := trace.Input{Absent: map[string]string{}}
	questioning{}.add(&input, answer{process: "p\x1b[2J", err: errors.New("no such pod")}, false)
	for name := range input.Absent {
		if strings.ContainsRune(name, '\x1b') {
			t.Errorf("it is called %q", name)
		}
	}
}

// many is a group of n processes.
func many(n int) *v1.ElectionGroup {
	g := &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "many"}}
	for i := range n {
		g.Status.Processes = append(g.Status.Processes, v1.ProcessStatus{Name: fmt.Sprintf("p-%d", i)})
	}
	return g
}

// A large group's agents are asked a few at a time; who does not answer keeps nobody waiting for
// ever, and the user is told what is going on.
func TestAgentsAreAskedAFewAtATime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		var notes strings.Builder
		input := published(many(100), time.Time{})
		q := questioning{
			namespace: "lab",
			within:    30 * time.Second,
			notes:     &notes,
			ask: func(ctx context.Context, _, pod string, _ int) (trace.Accounts, error) {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				defer func() {
					mu.Lock()
					now--
					mu.Unlock()
				}()
				if strings.HasSuffix(pod, "7") {
					<-ctx.Done()
					return trace.Accounts{}, ctx.Err()
				}
				<-time.After(100 * time.Millisecond)
				return trace.Accounts{Process: pod}, nil
			},
		}
		began := time.Now()
		if err := q.askAll(t.Context(), &input); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > q.within {
			t.Errorf("it took %v", took)
		}
		if most != askedAtOnce || len(input.Accounts) != 90 || len(input.Absent) != 10 ||
			input.Absent["p-7"] != "its agent has not answered in time" {
			t.Errorf("at most %d were asked at once; %d answered, and of the others it is said %v", most,
				len(input.Accounts), input.Absent)
		}
		if said := notes.String(); said != "asking the agents …\n" {
			t.Errorf("meanwhile it said %q", said)
		}
	})
}

// Who may not forward ports asks once, not once for each process.
func TestWithoutTheRightNobodyElseIsAsked(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := 0
		input := published(many(100), time.Time{})
		q := questioning{
			namespace: "lab",
			within:    time.Minute,
			notes:     &strings.Builder{},
			ask: func(context.Context, string, string, int) (trace.Accounts, error) {
				mu.Lock()
				defer mu.Unlock()
				asked++
				return trace.Accounts{}, errNoRight
			},
		}
		if err := q.askAll(t.Context(), &input); err != nil {
			t.Fatal(err)
		}
		if asked > 2*askedAtOnce || len(input.Absent) != 100 {
			t.Errorf("%d were asked, and %d are said to be absent", asked, len(input.Absent))
		}
		for name, why := range input.Absent {
			if !strings.Contains(why, "create on pods/portforward in namespace lab") {
				t.Fatalf("of %s it is said: %s", name, why)
			}
		}
	})
}

// An interrupt ends the command.
func TestTraceIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	input := published(many(3), time.Time{})
	q := questioning{
		within: time.Minute,
		notes:  &strings.Builder{},
		ask: func(ctx context.Context, _, _ string, _ int) (trace.Accounts, error) {
			cancel()
			<-ctx.Done()
			return trace.Accounts{}, ctx.Err()
		},
	}
	if err := q.askAll(ctx, &input); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

// Another process's account is not taken for that of the pod.
func TestAgentOfAnotherName(t *testing.T) {
	input := published(many(1), time.Time{})
	questioning{}.add(&input, answer{process: "p-0", accounts: trace.Accounts{Process: "p-1"}}, false)
	if len(input.Accounts) != 0 || input.Absent["p-0"] != "its agent says that it is p-1" {
		t.Errorf("it takes %+v, and says %v", input.Accounts, input.Absent)
	}
}
