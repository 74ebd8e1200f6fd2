package agent

import (
	"context"
	"net/http"
	"time"
)

// electorJSON is the coordinator as two older sidecars name it, for programs that were written for
// them: leader-elector of kubernetes/contrib answers the name, and nais/elector both. Such programs
// read each field of each answer, so none is ever left out.
type electorJSON struct {
	Name string `json:"name"` // empty while there is no coordinator
	// LastUpdate is since when, in UTC and with a Z: some parse no offset.
	LastUpdate string `json:"last_update"`
}

func (v View) elector(coordinator string) electorJSON {
	return electorJSON{Name: coordinator, LastUpdate: v.Updated.UTC().Format(time.RFC3339)}
}

// elector answers GET /.
func (a appAPI) elector(w http.ResponseWriter, _ *http.Request) {
	v, _ := a.views.Read()
	write(w, http.StatusOK, v.elector(a.coordinator().Name))
}

// followElector sends who coordinates: now, and at each change. (That a permission has just run out
// by the clock, which GET / looks at, is no change that anybody tells.) As in nais/elector, events
// have no type, and an idle stream is silent: the Python package sseclient takes a comment for an
// event.
func (a appAPI) followElector(ctx context.Context, say say) {
	var last electorJSON
	for {
		v, changed := a.views.Read()
		if now := v.elector(v.Coordinator); now != last {
			if last = now; say("", now) != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}
