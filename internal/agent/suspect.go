package agent

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// suspectHeader names the coordinator that does not answer the app. A plain form and a redirect
// cannot set a header, and a page of another origin cannot without asking first.
const suspectHeader = "Podesta-Suspect"

// suspectEvery is how often the app may report that the coordinator does not answer.
const suspectEvery = 10 * time.Second

// suspect takes the app's report that the coordinator does not answer it.
func (a appAPI) suspect(w http.ResponseWriter, r *http.Request) {
	name := r.Header.Get(suspectHeader)
	c := a.coordinator()
	switch {
	case name == "":
		http.Error(w, "the header "+suspectHeader+" names the coordinator that does not answer",
			http.StatusBadRequest)
	case name != c.Name || name == c.Self:
		http.Error(w, fmt.Sprintf("%q is not another process that coordinates: this process follows "+
			"%q", name, c.Name), http.StatusConflict)
	default:
		if left := a.ledger.suspect(name); left > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int((left+time.Second-1)/time.Second)))
			http.Error(w, "one report every "+suspectEvery.String()+": the last one is being looked into",
				http.StatusTooManyRequests)
			return
		}
		write(w, http.StatusAccepted, c)
	}
}

// suspect tells the agent's loop whom the app suspects. If the last report was not long ago it
// tells nothing, and returns how long the app has to wait.
func (l *Ledger) suspect(name string) (left time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clocks.Boot()
	if left := l.suspected + suspectEvery - now; l.suspected != 0 && left > 0 {
		return left
	}
	select {
	case l.suspicions <- name:
		l.suspected = now
		return 0
	default: // the loop has not read the last one yet
		return suspectEvery
	}
}
