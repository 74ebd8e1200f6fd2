package agent

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/podesta-dev/podesta/client/internal/fakeagent"
)

func TestCoordinator(t *testing.T) {
	a := fakeagent.Start()
	defer a.Close()
	c := Client{URL: a.URL}
	if v, err := c.Coordinator(t.Context()); err != nil || v.Coordinator != "" || v.Self != "a-0" {
		t.Errorf("while nobody coordinates: %+v, %v", v, err)
	}
	a.Grant(7, long)
	if v, err := c.Coordinator(t.Context()); err != nil || v.Coordinator != "a-0" || v.Epoch != 7 || v.Priority != 3 {
		t.Errorf("%+v, %v", v, err)
	}
	a.Close()
	if v, err := c.Coordinator(t.Context()); err == nil || v != (View{}) {
		t.Errorf("without an agent: %+v, %v", v, err)
	}
}

// Watch tells each coordinator, and that it is not known while the agent is away.
func TestWatch(t *testing.T) {
	a := fakeagent.Start()
	defer a.Close()
	a.Follow("a-1")
	ctx, cancel := context.WithCancel(t.Context())
	c := Client{URL: a.URL}
	var told []string
	err := c.Watch(ctx, func(v View) {
		told = append(told, v.Coordinator)
		switch len(told) {
		case 1:
			a.Follow("a-2")
		case 2:
			a.Cut()
		case 4:
			cancel()
		}
	})
	if want := []string{"a-1", "a-2", "", "a-2", ""}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestEpochsArePrintedAsPeopleReadThem(t *testing.T) {
	for epoch, want := range map[Epoch]string{29356615270401: "27996650.1", 7: "0.7", 1 << 20: "1.0"} {
		if got := epoch.String(); got != want {
			t.Errorf("%d is printed as %s, want %s", int64(epoch), got, want)
		}
	}
}
