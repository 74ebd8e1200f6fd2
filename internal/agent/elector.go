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

func (v View) elector() electorJSON {
	return electorJSON{
		Name:       v.Coordinator,
		LastUpdate: v.Updated.UTC().Format(time.RFC3339),
	}
}

// elector answers GET /.
func (a appAPI) elector(w http.ResponseWriter, _ *http.Request) {
	v, _ := a.board.Read()
	answer := v.elector()
	answer.Name = a.coordinator().Name
	write(w, http.StatusOK, answer)
}

// followElector sends what GET / answers: now, and at each change. As in nais/elector, events have
// no type, and an idle stream is silent: the Python package sseclient takes a comment for an event.
func (a appAPI) followElector(ctx context.Context, say say) {
	var last electorJSON
	for {
		v, changed := a.board.Read()
		if now := v.elector(); now != last {
			if last = now; !say("", now) {
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
