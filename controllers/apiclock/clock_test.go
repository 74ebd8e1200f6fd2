package apiclock_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/controllers/apiclock"
	"github.com/podesta-dev/podesta/test/bubble"
)

// dated is a transport that answers with a date, as an API server does; after a while.
type dated struct {
	date  func() time.Time
	takes time.Duration
}

func (d dated) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if date := d.date(); !date.IsZero() {
		w.Header().Set("Date", date.UTC().Format(http.TimeFormat))
	}
	time.Sleep(d.takes)
	return w.Result(), nil
}

func TestClocks(t *testing.T) {
	ahead := func(d time.Duration) func() time.Time {
		return func() time.Time { return time.Now().Add(d) }
	}
	for name, c := range map[string]struct {
		server dated
		agrees bool
	}{
		"alike":                         {dated{date: ahead(0)}, true},
		"within what is tolerated":      {dated{date: ahead(-apiclock.Tolerance + time.Second)}, true},
		"the API server's is ahead":     {dated{date: ahead(apiclock.Tolerance + 2*time.Second)}, false},
		"the manager's is ahead":        {dated{date: ahead(-24 * time.Hour)}, false},
		"the API server takes its time": {dated{date: ahead(0), takes: time.Hour}, true},
		"the API server says nothing":   {dated{date: func() time.Time { return time.Time{} }}, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				clock := apiclock.New(time.Now, slog.New(slog.DiscardHandler))
				if clock.Agrees() || !clock.Date().IsZero() {
					t.Error("before anything was compared, they agree, or a date is known")
				}
				ask(t, clock, c.server)
				if clock.Agrees() != c.agrees {
					t.Errorf("they agree: %t", !c.agrees)
				}
				time.Sleep(time.Minute)
				shown := c.server.date()
				if behind := shown.Sub(clock.Date()); !shown.IsZero() && (behind < 0 || behind > c.server.takes+time.Second) {
					t.Errorf("a minute later the API server shows %v; it says %v", shown, clock.Date())
				}
			})
		})
	}
}

func ask(t *testing.T, clock *apiclock.Clock, server http.RoundTripper) {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	response, err := clock.Watch(server).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
}

// A comparison does not count for ever, nor once the wall clock was set; the next one does.
func TestComparisonsGrowOld(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		set := time.Duration(0)
		now := func() time.Time { // set moves the wall clock, and leaves the monotonic one
			n := time.Now()
			if set == 0 {
				return n
			}
			return n.Add(set).Round(0)
		}
		clock := apiclock.New(now, slog.New(slog.DiscardHandler))
		server := dated{date: time.Now}
		ask(t, clock, server)
		time.Sleep(14 * time.Minute)
		if !clock.Agrees() {
			t.Error("after 14 minutes they do not agree any more")
		}
		time.Sleep(time.Minute)
		if clock.Agrees() {
			t.Error("after 15 minutes they agree still")
		}
		ask(t, clock, server)
		set = 24 * time.Hour
		if clock.Agrees() {
			t.Error("they agree although the wall clock was set")
		}
		if ask(t, clock, server); clock.Agrees() {
			t.Error("they agree a day apart")
		}
		set = 0
		if ask(t, clock, server); !clock.Agrees() {
			t.Error("they do not agree though the wall clock was set right")
		}
	})
}

// A manager without one knows nothing of the API server's clock.
func TestNoClock(t *testing.T) {
	var none *apiclock.Clock
	if none.Agrees() || !none.Date().IsZero() {
		t.Errorf("it agrees: %t; it shows %v", none.Agrees(), none.Date())
	}
}
