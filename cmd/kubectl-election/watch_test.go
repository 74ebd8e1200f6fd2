package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
	"github.com/podesta-dev/podesta/internal/display/text"
	"github.com/podesta-dev/podesta/test/bubble"
)

// watching is a `status -w` that runs in a bubble of virtual time.
type watching struct {
	t          *testing.T
	kube       client.WithWatch
	in         surroundings
	out, notes lockedBuffer
	watches    chan *watch.FakeWatcher // each watch that the command begins
	refused    error                   // why no watch begins
	listing    atomic.Pointer[func(context.Context) error]
	cancel     context.CancelFunc
	done       chan error
}

// list has the API server answer a list with this error, if it returns one.
func (w *watching) list(f func(context.Context) error) { w.listing.Store(&f) }

func (w *watching) listFails(err error) { w.list(func(context.Context) error { return err }) }

// lockedBuffer is a buffer that a test reads while the command writes.
type lockedBuffer struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.text.Write(p)
}

// take returns what was written since the last time.
func (b *lockedBuffer) take() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	defer b.text.Reset()
	return b.text.String()
}

// begin starts the command with the group scheduler in namespace shop.
func begin(t *testing.T, line string, change func(*watching)) *watching {
	t.Helper()
	w := &watching{t: t, watches: make(chan *watch.FakeWatcher), done: make(chan error, 1)}
	w.kube = fakeCluster(t, interceptor.Funcs{
		Watch: func(context.Context, client.WithWatch, client.ObjectList,
			...client.ListOption) (watch.Interface, error) {
			if w.refused != nil {
				return nil, w.refused
			}
			next := watch.NewFakeWithChanSize(10, false)
			w.watches <- next
			return next, nil
		},
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList,
			options ...client.ListOption) error {
			if f := w.listing.Load(); f != nil {
				if err := (*f)(ctx); err != nil {
					return err
				}
			}
			return kube.List(ctx, list, options...)
		},
	}, scheduler(t))
	w.in = around(w.kube)
	start := time.Now()
	w.in.now = func() time.Time { return noon.Add(time.Since(start)) }
	if change != nil {
		change(w)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	command := newCommand(w.in)
	command.SetArgs(strings.Fields(line))
	command.SetOut(&w.out)
	command.SetErr(&w.notes)
	go func() { w.done <- command.ExecuteContext(ctx) }()
	return w
}

func scheduler(t *testing.T) *v1.ElectionGroup {
	t.Helper()
	file, err := os.ReadFile(groupFiles + "/scheduler.yaml")
	if err != nil {
		t.Fatal(err)
	}
	g := &v1.ElectionGroup{}
	if err := yaml.UnmarshalStrict(file, g); err != nil {
		t.Fatal(err)
	}
	g.ResourceVersion = ""
	return g
}

// change changes the group in the cluster, and returns it.
func (w *watching) change(change func(*v1.ElectionGroup)) *v1.ElectionGroup {
	w.t.Helper()
	g := &v1.ElectionGroup{}
	key := types.NamespacedName{Namespace: "shop", Name: "scheduler"}
	if err := w.kube.Get(w.t.Context(), key, g); err != nil {
		w.t.Fatal(err)
	}
	change(g)
	if err := w.kube.Update(w.t.Context(), g); err != nil {
		w.t.Fatal(err)
	}
	return g
}

// end interrupts the command, which is to end at once and without an error.
func (w *watching) end() {
	w.t.Helper()
	began := time.Now()
	w.cancel()
	if err := <-w.done; err != nil || time.Since(began) != 0 {
		w.t.Errorf("ended after %v: %v", time.Since(began), err)
	}
}

// failed returns the error with which the command ends by itself.
func (w *watching) failed() error {
	w.t.Helper()
	select {
	case err := <-w.done:
		return err
	case <-time.After(time.Hour):
		w.cancel()
		<-w.done
		return errors.New("it has not ended within an hour")
	}
}

func crash(i int) func(*v1.ElectionGroup) {
	return func(g *v1.ElectionGroup) {
		p := &g.Status.Processes[i]
		p.State, p.Connected = v1.ProcessCrashed, nil
		var run, all int
		if _, err := fmt.Sscanf(g.Status.Running, "%d/%d", &run, &all); err != nil {
			panic(err)
		}
		g.Status.Running = fmt.Sprintf("%d/%d", run-1, all)
	}
}

const healthyLine = "2026-06-01T12:00:00Z  Healthy: scheduler-4 coordinates shop/scheduler under " +
	"epoch 27996650.1; 5/5 running; voters: 2 may fail\n"

// Without a terminal, a watch writes a line a change. It goes on when the API server ends it, and
// misses nothing of the time between.
func TestWatchWritesALineAChange(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, "status scheduler -n shop -w", nil)
		events := <-w.watches
		synctest.Wait()
		if got := w.out.take(); got != healthyLine {
			t.Fatalf("%q", got)
		}
		events.Modify(w.change(func(g *v1.ElectionGroup) { g.Labels = map[string]string{"a": "b"} }))
		synctest.Wait()
		if got := w.out.take(); got != "" {
			t.Errorf("a line for what is not shown: %q", got)
		}
		time.Sleep(time.Minute)
		events.Modify(w.change(crash(0)))
		synctest.Wait()
		if got := w.out.take(); got != "2026-06-01T12:01:00Z  Healthy: scheduler-4 coordinates "+
			"shop/scheduler under epoch 27996650.1; 4/5 running; voters: 1 more may fail; Crashed: "+
			"scheduler-0\n" {
			t.Errorf("%q", got)
		}

		events.Stop()
		w.change(crash(1))
		events = <-w.watches
		synctest.Wait()
		if got := w.out.take(); !strings.HasSuffix(got, "Crashed: scheduler-1, scheduler-0\n") ||
			strings.Count(got, "\n") != 1 {
			t.Errorf("after the watch began again: %q", got)
		}
		if got := w.notes.take(); got != "the API server has ended the watch: listing again\n" {
			t.Errorf("%q", got)
		}

		events.Delete(w.change(func(*v1.ElectionGroup) {}))
		synctest.Wait()
		if got := w.out.take(); !strings.HasSuffix(got, "Z  Deleted: group shop/scheduler\n") {
			t.Errorf("%q", got)
		}
		w.end()
	})
}

// While the API server cannot be reached, the watch tries again, and says so each time.
func TestWatchOutlivesTheAPIServer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, "status scheduler -n shop -w", nil)
		events := <-w.watches
		synctest.Wait()
		away := apierrors.NewServiceUnavailable("etcd is away")
		asked := 0
		w.list(func(ctx context.Context) error {
			if asked++; asked > 1000 { // without a pause, no time would pass
				<-ctx.Done()
			}
			return away
		})
		events.Stop()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		notes := w.notes.take()
		tries := strings.Count(notes, "trying again: the API server cannot be reached")
		if tries < 5 || tries > 200 {
			t.Errorf("%d attempts in five minutes:\n%s", tries, notes)
		}
		w.listFails(nil)
		w.change(crash(0))
		<-w.watches
		synctest.Wait()
		if got := w.out.take(); !strings.HasSuffix(got, "Crashed: scheduler-0\n") {
			t.Errorf("%q", got)
		}
		w.end()
	})
}

// A watch that is too old, or breaks with an error, begins again.
func TestWatchErrors(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, "status scheduler -n shop -w", nil)
		expired := apierrors.NewResourceExpired("too old").Status()
		(<-w.watches).Error(&expired)
		broken := apierrors.NewInternalError(errors.New("decode \x1b[2J")).Status()
		(<-w.watches).Error(&broken)
		<-w.watches
		synctest.Wait()
		got := w.notes.take()
		if !strings.HasPrefix(got, "the API server has ended the watch: listing again\n") ||
			!strings.Contains(got, `decode \x1b[2J`) || strings.ContainsRune(got, '\x1b') {
			t.Errorf("%q", got)
		}
		w.end()
	})
}

// Watches that end at once, without an error, are not begun again and again without pauses.
func TestWatchThatEndsAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, "status scheduler -n shop -w", nil)
		const most = 100
		watches := 0
		for over := time.After(5 * time.Minute); over != nil; {
			select {
			case events := <-w.watches:
				watches++
				events.Stop()
			case <-over:
				over = nil
			}
		}
		if watches < 5 || watches > most {
			t.Errorf("%d watches in five minutes, want %d at most", watches, most)
		}
		w.end()
	})
}

// A right that is missing, or was taken away, ends a watch.
func TestWatchWithoutTheRight(t *testing.T) {
	refused := apierrors.NewForbidden(groupResource, "scheduler", errors.New("by RBAC"))
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, "status scheduler -n shop -w", func(w *watching) { w.refused = refused })
		if err := w.failed(); exitCode(err) != exitForbidden ||
			!strings.Contains(err.Error(), "verb watch") {
			t.Errorf("%v", err)
		}
	})
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, "status scheduler -n shop -w", nil)
		events := <-w.watches
		w.listFails(refused)
		events.Stop()
		if err := w.failed(); exitCode(err) != exitForbidden ||
			!strings.Contains(err.Error(), "verb list") {
			t.Errorf("%v", err)
		}
	})
}

// An interrupt ends the command at once, whatever it waits for.
func TestWatchStopsAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) { // for the API server's first answer
		w := begin(t, "status -A -w", func(w *watching) {
			w.list(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		})
		synctest.Wait()
		w.end()
	})
	bubble.Test(t, func(t *testing.T) { // for the next attempt
		w := begin(t, "status -A -w", nil)
		(<-w.watches).Stop()
		synctest.Wait()
		w.end()
	})
}

// A watch for programs writes each version of each group once.
func TestWatchForPrograms(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, "status -A -w -o json", nil)
		events := <-w.watches
		g := w.change(crash(0))
		events.Modify(g)
		events.Modify(g)
		synctest.Wait()
		var running []string
		for line := range strings.Lines(w.out.take()) {
			var got struct{ Running string }
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatal(err)
			}
			running = append(running, got.Running)
		}
		if len(running) != 2 || running[0] != "5/5" || running[1] != "4/5" {
			t.Errorf("running: %v", running)
		}
		events.Delete(g)
		synctest.Wait()
		if got := w.out.take(); got != "" {
			t.Errorf("a line for a group that is gone: %q", got)
		}
		w.end()
	})
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, "status -A -w -o yaml", nil)
		<-w.watches
		synctest.Wait()
		if got := w.out.take(); !strings.HasPrefix(got, "---\nalgorithm: Bully\n") {
			t.Errorf("%q", got)
		}
		w.end()
	})
}

// On a terminal, a watch redraws in place, every second and at each change.
func TestWatchOnATerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, "status scheduler -n shop -w", func(w *watching) {
			w.in.screen = func(io.Writer) (int, int, bool) { return 80, 20, true }
		})
		events := <-w.watches
		synctest.Wait()
		first := w.out.take()
		if !strings.HasPrefix(first, "\x1b[2J\x1b[H\x1b[32mHealthy: \x1b[0m") ||
			!strings.Contains(first, "12:00:00 UTC; Ctrl-C ends") || strings.Count(first, "\n") > 20 {
			t.Errorf("%q", first)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		again := w.out.take()
		if !strings.HasPrefix(again, "\x1b[H\x1b[32mHealthy") ||
			!strings.Contains(again, "12:00:01 UTC; Ctrl-C ends") {
			t.Errorf("%q", again)
		}
		g := w.change(crash(0))
		events.Modify(g)
		synctest.Wait()
		if got := w.out.take(); !strings.Contains(got, "4/5") {
			t.Errorf("%q", got)
		}
		events.Delete(g)
		synctest.Wait()
		if got := w.out.take(); !strings.Contains(got, "There is no group scheduler in namespace shop.") {
			t.Errorf("%q", got)
		}
		w.listFails(apierrors.NewServiceUnavailable("etcd is away"))
		events.Stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.out.take(); !strings.Contains(got, "what is shown may be old, trying again") {
			t.Errorf("%q", got)
		}
		w.end()
	})
}

// Colours are for terminals, and for people who want them.
func TestColoursOfATerminal(t *testing.T) {
	in := around(fakeCluster(t, interceptor.Funcs{}, scheduler(t)))
	for _, test := range []struct {
		terminal bool
		noColor  string
		want     bool
	}{{true, "", true}, {true, "1", false}, {false, "", false}} {
		t.Setenv("NO_COLOR", test.noColor)
		in.screen = func(io.Writer) (int, int, bool) { return 80, 24, test.terminal }
		for _, line := range []string{"status scheduler", "status", "explain scheduler",
			"status scheduler -o json"} {
			out, _, err := runIn(t.Context(), in, line+" -n shop")
			want := test.want && !strings.Contains(line, "json")
			if err != nil || strings.ContainsRune(out, '\x1b') != want {
				t.Errorf("%s: %+v: %v\n%q", line, test, err, out)
			}
		}
	}
}

// A watch ends when nothing can be written any more.
func TestWatchIntoAClosedPipe(t *testing.T) {
	g := scheduler(t)
	s := shower{surroundings: around(nil), out: closedPipe{}}
	for _, d := range []audience{s.forWatch(), &redrawing{shower: s}} {
		if err := d.groups([]*v1.ElectionGroup{g}, display.Current{}, ""); !errors.Is(err, io.ErrClosedPipe) || !lasting(err) {
			t.Errorf("%v", err)
		}
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestWatchCutsNoWords: what is wrong is wrapped to any terminal, and not cut off at its edge.
func TestWatchCutsNoWords(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	g := scheduler(t)
	for i := range g.Status.Conditions {
		if c := &g.Status.Conditions[i]; c.Type == v1.ConditionDegraded {
			c.Status, c.Message = "True", strings.Repeat("a bcd efghi jklmnop ", 20)
		}
	}
	words := func(screen string) string {
		prose, _, _ := strings.Cut(screen, "PROCESS ")
		clean := strings.NewReplacer("\x1b[2J", "", "\x1b[H", "", "\x1b[K", "", "\x1b[0m", "")
		return strings.Join(strings.Fields(clean.Replace(prose)), " ")
	}
	for width := 60; width <= 120; width++ {
		s := shower{surroundings: around(nil), which: reading{name: g.Name}}
		s.screen = func(io.Writer) (int, int, bool) { return width, 1000, true }
		var out strings.Builder
		s.out = &out
		if err := s.forWatch().groups([]*v1.ElectionGroup{g}, display.Current{}, "note"); err != nil {
			t.Fatal(err)
		}
		want := words(text.Status(display.Dated(g, noon, display.Current{}), text.Options{}))
		if got := words(out.String()); got != want {
			t.Errorf("%d columns:\n%s, want\n%s", width, got, want)
		}
	}
}
