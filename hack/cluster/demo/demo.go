// Package demo shows Podesta's main job on a local cluster: a group is applied, its coordinator is
// killed under each algorithm, and what the survivors and the status say is printed.
package demo

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/hack/cluster/local"
	"github.com/podesta-dev/podesta/test/observer"
	"github.com/podesta-dev/podesta/test/stage"
)

// patience is how long any one step may take before the demo gives up and says what it waited for.
const patience = 90 * time.Second

// algorithms are shown in this order; the sample begins with the first.
var algorithms = []v1.Algorithm{v1.Bully, v1.StatusTableBully, v1.LeLann, v1.ChangRoberts,
	v1.RingList, v1.ActiveListRing}

// Options say where things are.
type Options struct {
	Repository string         // the root of the source tree, for config/samples
	Cluster    *local.Cluster // with a manager
	Out        io.Writer
}

type demo struct {
	Options
	stage   *stage.Stage
	pods    []string
	results []result
}

// result is what one kill gave.
type result struct {
	algorithm v1.Algorithm
	killed    string
	elected   string
	agreed    time.Duration // from SIGKILL until every survivor named the new coordinator
	shown     time.Duration // from SIGKILL until the status showed it, as the manager dates it
	messages  int32
}

// Run plays the demo. An error says which step did not happen.
func Run(ctx context.Context, o Options) error {
	s, err := stage.Connect(o.Cluster.Kubeconfig, "default", "scheduler")
	if err != nil {
		return err
	}
	defer s.Close()
	d := &demo{Options: o, stage: s}
	if err := d.apply(ctx); err != nil {
		return err
	}
	for _, algorithm := range algorithms {
		if err := d.failover(ctx, algorithm); err != nil {
			return fmt.Errorf("%s: %w", algorithm, err)
		}
	}
	if err := d.pause(ctx); err != nil {
		return fmt.Errorf("a pause: %w", err)
	}
	d.summary()
	return nil
}

// apply applies the samples and waits for the first coordinator.
func (d *demo) apply(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d.title("Five pods and their ElectionGroup: kubectl apply -k config/samples")
	for _, file := range []string{"podesta_v1_electiongroup.yaml", "pods.yaml"} {
		if err := d.stage.ApplyFile(ctx,
			filepath.Join(d.Repository, "config/samples", file)); err != nil {
			return err
		}
	}
	begun := time.Now()
	pods, err := d.stage.AwaitRunning(ctx, 5)
	if err != nil {
		return err
	}
	d.pods = slices.Sorted(maps.Keys(pods))
	first, err := d.stage.Observer.Await(ctx, d.pods, nil)
	if err != nil {
		return err
	}
	d.say("the five pods run and follow %s (%.1f s after apply)", first.Coordinator,
		time.Since(begun).Seconds())
	eg, err := d.stage.Await(ctx, "the first coordinator in the status",
		func(g *v1.ElectionGroup) bool {
			return stage.Coordinates(g, first.Coordinator)
		})
	if err != nil {
		return err
	}
	d.show(eg)
	return nil
}

// votesRunOut waits until the votes that the coordinator has just got, for the edited roster at the
// latest, have run out. They are for the longest lease. From then on its lease is as short as this
// machine lets it be.
func (d *demo) votesRunOut(ctx context.Context, coordinator string) error {
	eg, err := d.stage.Await(ctx, coordinator+" in the status", func(g *v1.ElectionGroup) bool {
		return stage.Coordinates(g, coordinator)
	})
	if err != nil {
		return err
	}
	timing := eg.Status.Timing
	select {
	case <-time.After(time.Duration(timing.LeaseMaximumMilliseconds+
		timing.HeartbeatMilliseconds) * time.Millisecond):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the end of the votes for %s: %w", coordinator, context.Cause(ctx))
	}
}

// failover edits the algorithm in, kills the coordinator, and waits for the next one and for the
// killed one's recovery.
func (d *demo) failover(ctx context.Context, algorithm v1.Algorithm) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := d.use(ctx, algorithm); err != nil {
		return err
	}
	before, err := d.stage.Observer.Await(ctx, d.pods, nil)
	if err != nil {
		return err
	}
	killed := before.Coordinator
	if err := d.votesRunOut(ctx, killed); err != nil {
		return err
	}
	at, err := d.stage.Signal(ctx, killed, syscall.SIGKILL)
	if err != nil {
		return err
	}
	d.say("SIGKILL to all processes of %s, the coordinator", killed)
	survivors := slices.DeleteFunc(slices.Clone(d.pods), func(p string) bool { return p == killed })
	after, err := d.stage.Observer.Await(ctx, survivors, func(c string) bool { return c != killed })
	if err != nil {
		return err
	}
	agreed, err := after.After(at)
	if err != nil {
		return fmt.Errorf("the survivors' agreement on %s: %w", after.Coordinator, err)
	}
	d.say("%s is the new coordinator: all %d survivors agreed after %s ms", after.Coordinator,
		len(survivors), ms(agreed))
	eg, err := d.stage.Await(ctx, "the new coordinator in the status", func(g *v1.ElectionGroup) bool {
		return stage.Coordinates(g, after.Coordinator) && stage.State(g, killed) == v1.ProcessCrashed
	})
	if err != nil {
		return err
	}
	shown, err := observer.After(at, eg.Status.Coordinator.Since.Time)
	if err != nil {
		return fmt.Errorf("%s in the status: %w", after.Coordinator, err)
	}
	r := result{
		algorithm: algorithm,
		killed:    killed,
		elected:   after.Coordinator,
		agreed:    agreed,
		shown:     shown,
	}
	if last := eg.Status.Elections; len(last) > 0 && last[0].Messages != nil {
		r.messages = *last[0].Messages
	}
	d.results = append(d.results, r)
	d.show(eg)
	return d.recovery(ctx, killed)
}

// use edits spec.algorithm on the live group; the coordinator stays.
func (d *demo) use(ctx context.Context, algorithm v1.Algorithm) error {
	d.title("%s", algorithm)
	if algorithm != algorithms[0] {
		d.say(`kubectl patch electiongroup scheduler --type merge -p '{"spec":{"algorithm":"%s"}}'`,
			algorithm)
		if err := d.stage.Edit(ctx, func(s *v1.ElectionGroupSpec) {
			s.Algorithm = algorithm
		}); err != nil {
			return err
		}
	}
	_, err := d.stage.Await(ctx, "all processes using the roster", func(g *v1.ElectionGroup) bool {
		return g.Status.ObservedGeneration == g.Generation && is(g, v1.ConditionReady, "True") &&
			is(g, v1.ConditionReconciling, "False")
	})
	return err
}

// recovery waits for the killed process to be back.
func (d *demo) recovery(ctx context.Context, killed string) error {
	all, err := d.stage.Observer.Await(ctx, d.pods, nil)
	if err != nil {
		return err
	}
	eg, err := d.stage.Await(ctx, "the recovery in the status", func(g *v1.ElectionGroup) bool {
		return stage.Coordinates(g, all.Coordinator) && stage.State(g, killed) != v1.ProcessCrashed
	})
	if err != nil {
		return err
	}
	d.say("%s was restarted and has recovered; all %d follow %s", killed, len(d.pods), all.Coordinator)
	fmt.Fprintln(d.Out, stage.Table(eg))
	return nil
}

// show prints the process status table.
func (d *demo) show(eg *v1.ElectionGroup) {
	fmt.Fprintf(d.Out, "\n%s\n", stage.Table(eg))
}

func (d *demo) summary() {
	d.title("Summary")
	fmt.Fprintf(d.Out, "  %-18s%-14s%-14s%-22s%-22s%s\n", "ALGORITHM", "KILLED", "ELECTED",
		"SURVIVORS AGREED", "IN THE STATUS", "MESSAGES")
	for _, r := range d.results {
		fmt.Fprintf(d.Out, "  %-18s%-14s%-14s%-22s%-22s%d\n", r.algorithm, r.killed, r.elected,
			"after "+ms(r.agreed)+" ms", "after "+ms(r.shown)+" ms", r.messages)
	}
	fmt.Fprintln(d.Out)
}

func (d *demo) title(format string, args ...any) {
	fmt.Fprintf(d.Out, "\n== %s\n", fmt.Sprintf(format, args...))
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.Out, "  "+format+"\n", args...) }

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }

func is(g *v1.ElectionGroup, kind, status string) bool {
	return slices.ContainsFunc(g.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == kind && string(c.Status) == status
	})
}

// Hints says what else can be tried while the cluster runs.
// Shell is Cluster.Shell.
func Hints(out io.Writer, shell string) {
	fmt.Fprintf(out, `The cluster goes on until Ctrl-C. In another terminal:

%s
  kubectl election status scheduler -w         # or bin/kubectl-election
  kubectl election explain scheduler
  kubectl get electiongroups --watch
  kubectl edit electiongroup scheduler         # the algorithm, the priorities
  kubectl delete pod scheduler-4               # the coordinator hands over
  kubectl get electiongroup scheduler -o yaml  # the process status table, the conditions
  kubectl get events --field-selector involvedObject.kind=ElectionGroup

`, shell)
}
