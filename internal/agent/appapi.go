package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// keepAlive is how often an idle event stream says that it is there, so that proxies leave it open.
const keepAlive = 15 * time.Second

// maxStreams bounds the event streams that are open at once.
const maxStreams = 64

// coordinatorJSON is what the app API says of the coordinator.
type coordinatorJSON struct {
	Name     string     `json:"name"` // empty while there is none
	Priority int32      `json:"priority,omitempty"`
	Self     string     `json:"self,omitempty"`
	Electing bool       `json:"electing"`
	Since    *time.Time `json:"since,omitempty"` // when this process began to follow it
}

func describe(v View) coordinatorJSON {
	c := coordinatorJSON{Name: v.Coordinator, Priority: v.Priority, Self: v.Name, Electing: v.Electing}
	if v.Coordinator != "" && !v.Since.IsZero() {
		c.Since = &v.Since
	}
	return c
}

// AppAPI serves the app beside the agent, in the same pod:
//
//	GET /                {"name": …}: the coordinator, as the old leader-elector sidecar had it
//	GET /v1/coordinator  who coordinates; 503 while nobody does
//	GET /v1/leader       200 if this pod coordinates, else 503: for probes and scripts
//	GET /v1/processes    the process status table, as this process knows it
//	GET /v1/events       server-sent events: `coordinator` now and at each change
//
// In Classic groups none of this fences: another process may have been elected before the answer is read.
func AppAPI(b *Board) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		v, _ := b.Read()
		write(w, http.StatusOK, map[string]string{"name": v.Coordinator})
	})
	mux.HandleFunc("GET /v1/coordinator", func(w http.ResponseWriter, _ *http.Request) {
		v, _ := b.Read()
		write(w, okIf(v.Coordinator != ""), describe(v))
	})
	mux.HandleFunc("GET /v1/leader", func(w http.ResponseWriter, _ *http.Request) {
		v, _ := b.Read()
		write(w, okIf(v.Coordinates()), describe(v))
	})
	mux.HandleFunc("GET /v1/processes", func(w http.ResponseWriter, _ *http.Request) {
		v, _ := b.Read()
		write(w, http.StatusOK, map[string]any{"algorithm": v.Algorithm, "generation": v.Generation, "processes": v.Processes})
	})
	mux.Handle("GET /v1/events", &events{board: b, slots: make(chan struct{}, maxStreams)})
	return mux
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
	_ = json.NewEncoder(w).Encode(body) // the client has gone: nothing to tell it
}

// events streams the coordinator to whoever listens.
type events struct {
	board *Board
	slots chan struct{}
}

func (e *events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	default:
		http.Error(w, fmt.Sprintf("%d event streams are open already: close one", maxStreams), http.StatusTooManyRequests)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	e.stream(w, r)
}

func (e *events) stream(w http.ResponseWriter, r *http.Request) {
	flush := http.NewResponseController(w)
	idle := time.NewTicker(keepAlive)
	defer idle.Stop()
	said := ""
	for {
		v, changed := e.board.Read()
		data, err := json.Marshal(describe(v))
		if err != nil {
			return
		}
		if string(data) != said {
			said = string(data)
			if _, err := fmt.Fprintf(w, "event: coordinator\ndata: %s\n\n", data); err != nil || flush.Flush() != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-idle.C:
			if _, err := fmt.Fprint(w, ": still here\n\n"); err != nil || flush.Flush() != nil {
				return
			}
		}
	}
}
