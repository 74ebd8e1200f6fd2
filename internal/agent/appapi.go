package agent

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// coordinatorJSON is what the app API answers about the coordinator.
type coordinatorJSON struct {
	Name     string      `json:"name"` // empty while there is none
	Priority int32       `json:"priority,omitempty"`
	Epoch    lease.Epoch `json:"epoch,omitempty"` // of its lease, in Guarded groups
	Self     string      `json:"self,omitempty"`
	Group    string      `json:"group,omitempty"` // its name
	Safety   string      `json:"safety,omitempty"`
	Electing bool        `json:"electing"`
	Since    *time.Time  `json:"since,omitempty"` // when this process began to follow it
}

// permissionJSON is what it answers about whether this very pod may act, and until when.
type permissionJSON struct {
	coordinatorJSON
	MayAct bool `json:"mayAct"`
	// Deadline is the wall clock's reading at the deadline, for people. Setting the clock moves it.
	Deadline *time.Time `json:"deadline,omitempty"`
	// DeadlineBoottime is the deadline on CLOCK_BOOTTIME of this machine, which nobody can set.
	DeadlineBoottime int64 `json:"deadlineBoottimeNanoseconds,omitempty"`
	// Renewed is when the agent sent the newest renewal that a majority has granted, on the same
	// clock.
	Renewed int64 `json:"renewedBoottimeNanoseconds,omitempty"`
	// Remaining is for apps that cannot read that clock. It counts from when the request was sent.
	Remaining int64 `json:"remainingMilliseconds,omitempty"`
}

// AppAPI serves the app beside the agent, in the same pod:
//
//	GET /                {"name": …, "last_update": …}: the coordinator, as older sidecars answered
//	GET /sse             server-sent events: the same now and at each change
//	GET /v1/coordinator  who coordinates; 503 while nobody does
//	GET /v1/permission   200 and the deadline if this pod may act, else 503
//	GET /v1/session      server-sent events: `permission` now, at each change, before each deadline.
//	                     Closing the session gives the permission up. The request carries the
//	                     header Podesta-Session: open. With Podesta-Session: acknowledged there are
//	                     events `acknowledge`, too, and the session ends if the app answers none
//	POST /v1/acknowledge the app answers the event `acknowledge` that Podesta-Acknowledge names
//	POST /v1/paused      the app read nothing of its session for as long as the header
//	                     Podesta-Paused says
//	POST /v1/suspect     the coordinator that Podesta-Suspect names does not answer the app
//	GET /v1/processes    the process status table, as this process knows it
//	GET /v1/elections    the last elections, with every message, as this process tells them
//	GET /v1/events       server-sent events: `coordinator` now and at each change
//
// In Guarded groups every answer carries the epoch, and only GET /v1/permission and /v1/session
// permit anything, until the deadline; a hand-over waits for what they have permitted. To look,
// read /v1/coordinator. In Classic groups none of this fences: another process may have been
// elected before the answer is read.
func AppAPI(b *Views, l *Ledger, told *Accounts, log *slog.Logger) http.Handler {
	a := appAPI{views: b, ledger: l, awaited: &awaited{}, log: log}
	slots := make(chan struct{}, maxStreams)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", a.elector)
	mux.Handle("GET /sse", &stream{
		slots:  slots,
		states: true,
		follow: a.followElector,
	})
	mux.HandleFunc("GET /v1/coordinator", func(w http.ResponseWriter, _ *http.Request) {
		c := a.coordinator()
		write(w, okIf(c.Name != ""), c)
	})
	mux.HandleFunc("GET /v1/permission", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet { // a HEAD could not say until when
			w.Header().Set("Allow", http.MethodGet)
			http.Error(w, "a permission is read with GET; to look, read /v1/coordinator",
				http.StatusMethodNotAllowed)
			return
		}
		answer := a.permission(l.Use)
		write(w, okIf(answer.MayAct), answer)
	})
	mux.HandleFunc("POST /v1/acknowledge", a.acknowledge)
	mux.HandleFunc("POST /v1/paused", a.paused)
	mux.HandleFunc("POST /v1/suspect", a.suspect)
	mux.HandleFunc("GET /v1/processes", func(w http.ResponseWriter, _ *http.Request) {
		v, _ := b.Read()
		write(w, http.StatusOK, map[string]any{
			"algorithm":   v.Algorithm,
			"safety":      v.Safety,
			"generation":  v.Generation,
			"coordinator": v.Coordinator,
			"epoch":       v.Epoch,
			"processes":   v.Processes,
		})
	})
	mux.Handle("GET /v1/elections", told)
	mux.Handle("GET /v1/events", &stream{
		slots:  slots,
		states: true,
		follow: a.followCoordinator,
	})
	mux.Handle("GET /v1/session", &stream{
		slots:        make(chan struct{}, maxSessions),
		follow:       a.followPermission,
		acknowledged: a.followAcknowledged,
	})
	return mux
}

type appAPI struct {
	views   *Views
	ledger  *Ledger
	awaited *awaited
	log     *slog.Logger
}

// coordinator describes the coordinator as of now. It checks the clock, so that an agent whose loop
// is stuck does not go on saying that this pod coordinates.
func (a appAPI) coordinator() coordinatorJSON {
	v, _ := a.views.Read()
	c := describe(v)
	if v.guarded() && v.Coordinates() && !a.ledger.Valid() {
		c = coordinatorJSON{Self: v.Name, Group: v.GroupName, Safety: v.Safety, Electing: true}
	}
	return c
}

// permission describes whether this pod may act. That tells the app until when it may rely on it.
func (a appAPI) permission(use func() (lease.Permission, bool)) permissionJSON {
	v, _ := a.views.Read()
	if !v.guarded() {
		return permissionJSON{coordinatorJSON: describe(v), MayAct: v.Coordinates()}
	}
	now := a.ledger.clocks.Boot()
	granted, ok := use()
	if !ok {
		return permissionJSON{coordinatorJSON: a.coordinator()}
	}
	c := describe(v)
	c.Name, c.Epoch, c.Electing = v.Name, granted.Epoch, false
	remaining := granted.Deadline - now
	deadline := time.Now().Add(remaining)
	return permissionJSON{
		coordinatorJSON:  c,
		MayAct:           true,
		Deadline:         &deadline,
		DeadlineBoottime: int64(granted.Deadline),
		Renewed:          int64(granted.Renewed),
		Remaining:        remaining.Milliseconds(),
	}
}

func describe(v View) coordinatorJSON {
	c := coordinatorJSON{
		Name:     v.Coordinator,
		Priority: v.Priority,
		Epoch:    v.Epoch,
		Self:     v.Name,
		Group:    v.GroupName,
		Safety:   v.Safety,
		Electing: v.Electing,
	}
	if v.Coordinator != "" && !v.Since.IsZero() {
		c.Since = &v.Since
	}
	return c
}

func okIf(ok bool) int {
	if ok {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error means that the client has gone
}
