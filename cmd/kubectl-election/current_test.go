package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/podesta-dev/podesta/test/bubble"
)

// leasing are surroundings in which the managers' Lease is read so.
func leasing(in surroundings,
	lease func(context.Context) (*coordinationv1.Lease, error)) surroundings {
	connect := in.connect
	in.connect = func(at *cluster) (apiClient, string, error) {
		kube, namespace, err := connect(at)
		fake, _ := kube.(fakeServer)
		fake.lease = lease
		return fake, namespace, err
	}
	return in
}

func always(l *coordinationv1.Lease, err error) func(context.Context) (*coordinationv1.Lease, error) {
	return func(context.Context) (*coordinationv1.Lease, error) { return l, err }
}

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// Without a manager that leads, the first line of each view says that nobody updates it, and the
// exit code is another one. The agents are asked where one group is shown.
func TestViewsWithoutAManager(t *testing.T) {
	frozen := leaseOf("podesta-manager-7d4f-abc_17", noon.Add(-16*time.Second))
	for name, test := range map[string]struct {
		lease func(context.Context) (*coordinationv1.Lease, error)
		want  string // after NotUpdated; empty: it is not stale
	}{
		"frozen": {always(frozen, nil), "no manager leads: podesta-manager-7d4f-abc has stopped"},
		"nobody holds it": {always(leaseOf("", noon.Add(-time.Minute)), nil),
			"no manager leads: nobody holds the Lease"},
		"none": {always(nil, apierrors.NewNotFound(leases, leaseName)), "there is no Lease"},
		"forbidden": {always(nil, apierrors.NewForbidden(leases, leaseName, errors.New("no"))),
			""},
		"another clock": {func() func(context.Context) (*coordinationv1.Lease, error) {
			var n atomic.Int64
			return func(context.Context) (*coordinationv1.Lease, error) {
				return leaseOf("m", noon.Add(time.Hour+time.Duration(n.Add(1))*time.Second)), nil
			}
		}(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				in := leasing(around(fakeCluster(t, interceptor.Funcs{}, scheduler(t))), test.lease)
				for _, line := range []string{"status scheduler", "status", "status -o json",
					"status scheduler -o json", "explain scheduler", "explain scheduler -o yaml",
					"trace scheduler -o text", "step-down scheduler --yes"} {
					began := time.Now()
					out, notes, err := runIn(t.Context(), in, line+" -n shop")
					out = strings.Join(strings.Fields(out+notes), " ")
					document := strings.Contains(line, "json") || strings.Contains(line, "yaml")
					switch says := strings.HasPrefix(out, "NotUpdated: nobody updates"); {
					case strings.HasPrefix(line, "step-down"):
						if strings.Contains(notes, "\nNotUpdated: nobody updates") != (test.want != "") ||
							strings.Contains(notes, "4 follow the-agents-own") != (test.want != "") ||
							strings.Contains(notes, "As of ") != (test.want == "") {
							t.Errorf("%s: %s", line, notes)
						}
						continue // it waits for the manager
					case says != (test.want != "" && !document):
						t.Errorf("%s: the first line is %.200s", line, out)
					case test.want == "" && err != nil:
						t.Errorf("%s: %v", line, err)
					case test.want != "" && (exitCode(err) != exitStale || !strings.Contains(out, test.want)):
						t.Errorf("%s: exit code %d, %s", line, exitCode(err), out)
					case document && strings.Contains(line, "status") &&
						strings.Contains(out, `"state": "NotUpdated"`) != (test.want != ""):
						t.Errorf("%s: %s", line, out)
					}
					if took := time.Since(began); took > 3*time.Second {
						t.Errorf("%s: it took %v", line, took)
					}
					if test.want != "" && strings.HasSuffix(line, "s scheduler") &&
						!strings.Contains(out, "4 follow the-agents-own") {
						t.Errorf("%s: what the agents say is not there: %s", line, out)
					}
					if name == "forbidden" && !document && !strings.HasPrefix(line, "trace") &&
						!strings.Contains(strings.ToLower(out), "as of not known: you may not get the lease") {
						t.Errorf("%s: it does not say that the age is not known: %s", line, out)
					}
				}
			})
		})
	}
}

// An age does not go on while nobody updates it.
func TestAgesStopWithTheManager(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		in := leasing(around(fakeCluster(t, interceptor.Funcs{}, scheduler(t))),
			always(leaseOf("m", noon.Add(-time.Hour)), nil))
		first, _, _ := runIn(t.Context(), in, "status scheduler -n shop")
		in.now = func() time.Time { return noon.Add(100 * time.Hour) }
		second, _, _ := runIn(t.Context(), in, "status scheduler -n shop")
		if first != second {
			t.Errorf("%s\nthen\n%s", first, second)
		}
	})
}

// lasting is a Lease that is renewed until it is stopped.
type lastingLease struct{ stopped, silent atomic.Bool }

func (l *lastingLease) read(ctx context.Context) (*coordinationv1.Lease, error) {
	if l.silent.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if l.stopped.Load() {
		return leaseOf("m", noon), nil
	}
	return leaseOf("m", time.Now()), nil
}

// A watch says within seconds that no manager leads any more, that the API server stands still, and
// that either is over.
func TestWatchNoticesSilence(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	for name, stop := range map[string]func(*lastingLease, bool){
		"no manager leads":               func(l *lastingLease, b bool) { l.stopped.Store(b) },
		"the API server does not answer": func(l *lastingLease, b bool) { l.silent.Store(b) },
	} {
		for _, terminal := range []bool{false, true} {
			bubble.Test(t, func(t *testing.T) {
				lease := &lastingLease{}
				w := begin(t, "status scheduler -n shop -w", func(w *watching) {
					w.in = leasing(w.in, lease.read)
					w.in.screen = func(io.Writer) (int, int, bool) { return 100, 40, terminal }
				})
				<-w.watches
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if got := w.out.take(); strings.Contains(got, "NotUpdated") {
					t.Errorf("%s: before it happens: %s", name, got)
				}
				stop(lease, true)
				time.Sleep(8 * time.Second)
				synctest.Wait()
				if lease.stopped.Load() { // the API server answers, so agents can be asked
					time.Sleep(4 * time.Second)
					synctest.Wait()
					name = "Agents now: 4 follow the-agents-own"
				}
				got := strings.Join(strings.Fields(w.out.take()), " ")
				if !strings.Contains(got, "NotUpdated: nobody updates") || !strings.Contains(got, name) {
					t.Errorf("%s, terminal %v: after 8 s: %s", name, terminal, got)
				}
				stop(lease, false)
				time.Sleep(5 * time.Second)
				synctest.Wait()
				last := w.out.take()
				if i := strings.LastIndex(last, "\x1b[H"); i >= 0 {
					last = last[i:]
				}
				if strings.Contains(last, "NotUpdated") || !strings.Contains(last, "Healthy: ") {
					t.Errorf("%s, terminal %v: after it is over: %s", name, terminal, last)
				}
				w.end()
			})
		}
	}
}

// A watch that brings nothing although something has changed begins again.
func TestDeafWatchBeginsAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, "status scheduler -n shop -w", nil)
		<-w.watches
		synctest.Wait()
		w.out.take()
		time.Sleep(time.Minute)
		w.change(crash(0))
		select {
		case <-w.watches:
		case <-time.After(8 * time.Second):
			t.Fatal("it still trusts the watch")
		}
		synctest.Wait()
		if got := w.out.take(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "4/5 running") {
			t.Errorf("%q", got)
		}
		w.end()
	})
}
