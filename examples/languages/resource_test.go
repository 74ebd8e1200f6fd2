package languages

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/fence"
)

// patience is how long anything may take, on a machine that does much else.
const patience = 3 * time.Minute

// resource is what the programs act on. It refuses stale epochs, and notes each request, also those
// that it refuses.
type resource struct {
	url string

	mu      sync.Mutex
	acts    []*act
	changed chan struct{} // closed when there is another act
}

// act is a request of a program. While it is under way, it has not ended.
type act struct {
	name         string
	epoch        int64
	status       int
	began, ended time.Time
}

func newResource(t *testing.T) *resource {
	t.Helper()
	r := &resource{changed: make(chan struct{})}
	done := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	fenced := &fence.Handler{Gate: &fence.Gate{}, Next: done}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		epoch, err := strconv.ParseInt(req.Header.Get(fence.Header), 10, 64)
		name, unread := io.ReadAll(io.LimitReader(req.Body, 64))
		if err != nil || unread != nil || req.Method != http.MethodPut {
			t.Errorf("%s with epoch %v, body %q, %v", req.Method, err, name, unread)
		}
		answer := &answer{ResponseWriter: w, status: http.StatusOK}
		a := r.begin(string(name), epoch)
		fenced.ServeHTTP(answer, req)
		r.end(a, answer.status)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL + "/"
	return r
}

type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (r *resource) begin(name string, epoch int64) *act {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &act{name: name, epoch: epoch, began: time.Now()}
	r.acts = append(r.acts, a)
	return a
}

func (r *resource) end(a *act, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.status, a.ended = status, time.Now()
	close(r.changed)
	r.changed = make(chan struct{})
}

// find waits until an act is what is wanted.
func (r *resource) find(t *testing.T, what string, wanted func([]*act) *act) act {
	t.Helper()
	timeout := time.After(patience)
	for {
		r.mu.Lock()
		found, changed := wanted(r.acts), r.changed
		var copied act
		if found != nil {
			copied = *found
		}
		r.mu.Unlock()
		if found != nil {
			return copied
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("%s is waited for; what reached the resource:\n%v", what, r.story())
		}
	}
}

// await waits until another replica than the last one acts, under a higher epoch: for the third
// time, for then it does what it does all the time.
func (r *resource) await(t *testing.T, last act) act {
	t.Helper()
	return r.find(t, fmt.Sprintf("another one after %v", last), func(all []*act) *act {
		return nth(all, 3, func(a *act) bool { return a.epoch > last.epoch && a.name != last.name })
	})
}

// awaitMore waits until five more acts have been done under an epoch, or a higher one.
func (r *resource) awaitMore(t *testing.T, epoch int64) {
	t.Helper()
	since := time.Now()
	r.find(t, fmt.Sprintf("five more acts under epoch %d", epoch), func(all []*act) *act {
		return nth(all, 5, func(a *act) bool { return a.epoch >= epoch && a.began.After(since) })
	})
}

// awaitActs waits until so many acts have been done, whatever their epochs.
func (r *resource) awaitActs(t *testing.T, n int) {
	t.Helper()
	r.find(t, fmt.Sprintf("act number %d", n), func(all []*act) *act {
		return nth(all, n, func(*act) bool { return true })
	})
}

// later are the acts that were under way at that instant, or later.
func (r *resource) later(instant time.Time) (found []act) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.acts {
		if a.ended.IsZero() || a.ended.After(instant) {
			found = append(found, *a)
		}
	}
	return found
}

// nth is the nth of the acts that were done and are wanted.
func nth(all []*act, n int, wanted func(*act) bool) *act {
	for _, a := range all {
		if a.status == http.StatusOK && wanted(a) {
			if n--; n == 0 {
				return a
			}
		}
	}
	return nil
}

// problems are what must not have reached the resource: acts under two epochs at a time, an epoch
// of two processes, and acts under an epoch that is over. A program that stood still between its
// look at the clock and its act acts too late, in vain, and ends: that is one act for each lease,
// and more are a problem.
func (r *resource) problems() (found []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var last *act // under the highest epoch
	late := map[int64]int{}
	for _, a := range r.acts {
		switch {
		case last == nil || a.epoch > last.epoch:
			if last != nil && (last.ended.IsZero() || last.ended.After(a.began)) {
				found = append(found, fmt.Sprintf("%v began before %v had ended", a, last))
			}
			last = a
		case a.epoch < last.epoch:
			if late[a.epoch]++; late[a.epoch] > 1 || a.status == http.StatusOK {
				found = append(found, fmt.Sprintf("%v came after %v", a, last))
			}
		case a.name != last.name:
			found = append(found, fmt.Sprintf("%v and %v have one epoch", a, last))
		default:
			last = a
		}
	}
	return found
}

// after is how many acts under the epoch of one began after an instant.
func (r *resource) after(one act, instant time.Time) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.acts {
		if a.epoch == one.epoch && a.began.After(instant) {
			n++
		}
	}
	return n
}

func (a act) String() string {
	return fmt.Sprintf("%s under %d: %d (%s to %s)", a.name, a.epoch, a.status, a.began.Format("05.000"),
		a.ended.Format("05.000"))
}

// story is of each lease the first act and the last one.
func (r *resource) story() (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, a := range r.acts {
		if i == 0 || i == len(r.acts)-1 || r.acts[i-1].epoch != a.epoch || r.acts[i+1].epoch != a.epoch {
			lines = append(lines, a.String())
		}
	}
	return lines
}
