// Package register is a fenced register for tests: the resource that a coordinator writes to. It
// takes a write if its epoch is at least the highest that it has taken, and refuses it else; it
// logs both. Groups have registers of their own.
//
// Classic groups have no epoch: their writes carry 0, which is never below the highest, so all are
// taken. That is what a resource without fencing does.
package register

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Write is what a process asks the register to take. Apart from the epoch the register judges
// nothing of it: the rest is for the log.
type Write struct {
	Group   string `json:"group"`
	Process string `json:"process"` // the pod's name
	UID     string `json:"uid"`     // the pod's
	Epoch   int64  `json:"epoch"`   // 0 in Classic groups
	// Since is when the writer's present belief began: it was told that it may act, and has been told
	// so ever since.
	Since Instant `json:"since"`
	// Heard is when it was last told.
	Heard Instant `json:"heard"`
	// Checked is when it last looked at the clock, and found that it may act.
	Checked Instant `json:"checkedAt"`
	// Deadline is until when it was told it may act; 0 in Classic groups.
	Deadline Instant `json:"deadline,omitempty"`
	// Session: it is told over a session, so a Classic writer is told once and not again.
	Session bool `json:"session,omitempty"`
	// Careless: the writer let time pass between the check and the write, as a program does that knows
	// nothing of pauses.
	Careless bool `json:"careless,omitempty"`
}

// Entry is a write with the register's answer: a line of its log.
type Entry struct {
	At Instant `json:"at"`
	Write
	Accepted bool  `json:"accepted"`
	Highest  int64 `json:"highest"` // epoch taken so far, with this write
}

// maxGroups bounds the registers.
const maxGroups = 64

// maxBody bounds a request, in bytes.
const maxBody = 4096

// Register is all groups' registers. It is safe for concurrent use. Its zero value is not usable:
// see New.
type Register struct {
	mu      sync.Mutex
	log     io.Writer
	watch   func(Entry)
	highest map[string]int64 // epoch taken, by group
}

// New returns empty registers that log each entry as a line of JSON, in the order in which they
// were decided. Watch, unless it is nil, is called with each entry in that order; it must not
// block.
func New(log io.Writer, watch func(Entry)) *Register {
	return &Register{
		log:     log,
		watch:   watch,
		highest: map[string]int64{},
	}
}

// Put takes or refuses a write. A write that cannot be logged is neither: that is the error.
func (r *Register) Put(w Write) (Entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	highest, known := r.highest[w.Group]
	if !known && len(r.highest) == maxGroups {
		return Entry{}, fmt.Errorf("there are %d registers already: %s gets none", maxGroups, w.Group)
	}
	e := Entry{
		At:       Now(),
		Write:    w,
		Accepted: w.Epoch >= highest,
		Highest:  max(highest, w.Epoch),
	}
	line, err := json.Marshal(e)
	if err != nil {
		return Entry{}, err
	}
	if _, err := r.log.Write(append(line, '\n')); err != nil {
		return Entry{}, fmt.Errorf("the register's log: %w", err)
	}
	r.highest[w.Group] = e.Highest
	if r.watch != nil {
		r.watch(e)
	}
	return e, nil
}

// ServeHTTP answers PUT with a Write in JSON: 200 and the entry if it is taken, 409 and the entry
// if its epoch is stale.
func (r *Register) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPut {
		w.Header().Set("Allow", http.MethodPut)
		http.Error(w, "only PUT", http.StatusMethodNotAllowed)
		return
	}
	var write Write
	decoder := json.NewDecoder(http.MaxBytesReader(w, request.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&write); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if write.Group == "" || write.Process == "" || write.Epoch < 0 {
		http.Error(w, "a write names its group and process, and no epoch below 0", http.StatusBadRequest)
		return
	}
	entry, err := r.Put(write)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if !entry.Accepted {
		w.WriteHeader(http.StatusConflict)
	}
	_ = json.NewEncoder(w).Encode(entry) // the client has gone: nothing to tell it
}
