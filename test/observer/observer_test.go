package observer

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// agent says some lines over its event stream, and then keeps the stream open or ends it.
func agent(t *testing.T, ends bool, said ...string) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, text := range said {
			fmt.Fprint(w, text)
		}
		_ = http.NewResponseController(w).Flush()
		if !ends {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func watching(t *testing.T, addresses ...string) (w *Observer, processes []string) {
	t.Helper()
	w = New()
	t.Cleanup(w.Close)
	for i, address := range addresses {
		processes = append(processes, fmt.Sprint("p", i+1))
		w.Watch(processes[i], address)
	}
	return w, processes
}

const names = "event: coordinator\ndata: {\"name\":\"p1\",\"electing\":false}\n\n"

func TestAllNameTheSame(t *testing.T) {
	w, all := watching(t, agent(t, false, names), agent(t, false, names))
	begun := time.Now()
	a, err := w.Await(t.Context(), all, nil)
	if err != nil || a.Coordinator != "p1" {
		t.Fatalf("%+v, %v", a, err)
	}
	if took, err := a.After(begun.Add(-time.Second)); err != nil || took < time.Second {
		t.Errorf("it took %v, %v", took, err)
	}
	if took, err := a.After(time.Now().Add(time.Second)); err == nil {
		t.Errorf("an agreement before its cause took %v", took)
	}
}

// Nobody agrees with nobody, and one that elects, one that names nobody and one that is not heard
// agree with no one.
func TestNoAgreement(t *testing.T) {
	for name, second := range map[string]string{
		"elects":           `data: {"name":"p1","electing":true}` + "\n\n",
		"names nobody":     `data: {"name":""}` + "\n\n",
		"names another":    `data: {"name":"p2"}` + "\n\n",
		"was cut off":      `data: {"name":"p`,
		"says no event":    ": a comment\n\n",
		"has said nothing": "",
	} {
		t.Run(name, func(t *testing.T) {
			w, all := watching(t, agent(t, false, names), agent(t, name == "was cut off", second))
			if a, err := w.Await(t.Context(), all[:1], nil); err != nil || a.Coordinator != "p1" {
				t.Fatalf("the first alone: %+v, %v", a, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if a, err := w.Await(ctx, all, nil); err == nil {
				t.Errorf("they agree on %+v", a)
			}
			if a, err := w.Await(ctx, nil, nil); err == nil {
				t.Errorf("nobody agrees on %+v", a)
			}
		})
	}
}

// What is no event is never passed over: the view of before would stand for what was said.
func TestWhatIsNoEventIsAnError(t *testing.T) {
	for _, bad := range []string{"data: yes\n\n", "data: {}\n\n", `data: {"leader":"p1"}` + "\n\n"} {
		w, all := watching(t, agent(t, false, names), agent(t, false, names, bad))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := w.Await(ctx, all, func(string) bool { return false })
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "p2 said") {
			t.Errorf("%q: %v", bad, err)
		}
		cancel()
	}
}
