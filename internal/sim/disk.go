package sim

import (
	"errors"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// disk is a state directory. It outlives the agent's restarts. One write is under way at a time; of
// those that wait, only the newest is made.
type disk struct {
	number int // of the state directory: another one has another number
	saved  content
	making node.Write
	queued node.Write // Number 0: nothing
	busy   bool
	turn   uint64
}

// content is what a state directory holds.
type content struct {
	lease  lease.State
	roster *node.Roster
}

var errDisk = errors.New("the disk refused it")

// write begins a write, or has it wait for the one that is under way.
func (w *World) write(p int32, wr node.Write) {
	d := &w.processes[p].disk
	w.Writes++
	if d.busy {
		d.queued = wr
		return
	}
	w.beginWrite(p, wr)
}

func (w *World) beginWrite(p int32, wr node.Write) {
	d := &w.processes[p].disk
	d.making, d.busy = wr, true
	d.turn++
	takes := w.within(Unit / 50)
	if w.chance(w.Slow) {
		takes = w.within(2 * T)
	}
	t := w.plan(w.now+takes, Looks, diskTask, p)
	t.number = d.turn
}

// written: a write has ended, in one way or another.
func (w *World) written(t *task) {
	v := &w.processes[t.p]
	d := &v.disk
	if v.node == nil || !d.busy || d.turn != t.number {
		return
	}
	number, refused := d.making.Number, w.chance(w.Options.Refused)
	if refused {
		w.half(t.p)
	} else {
		d.saved = content{lease: d.making.Lease, roster: d.making.Roster}
	}
	d.busy = false
	if refused && !w.sabotage.confirmAll {
		w.tell("%s: write %d is refused", v.name, number)
		d.queued = node.Write{} // begun before the failure: it has failed, too
		w.advance(t.p, number, errDisk)
		return
	}
	if w.chance(w.SyncDies) {
		w.crash(t.p)
		return
	}
	if d.queued.Number != 0 {
		queued := d.queued
		d.queued = node.Write{}
		w.beginWrite(t.p, queued)
	}
	w.advance(t.p, number, nil)
}

// half is what becomes of a write that has not ended, or failed: nothing of it is on the disk, or
// the roster alone, which is written first (internal/statedir), or all. Each file is the old or the
// new.
func (w *World) half(p int32) {
	d := &w.processes[p].disk
	switch w.rng.IntN(3) {
	case 1:
		d.saved.roster = d.making.Roster
	case 2:
		d.saved = content{lease: d.making.Lease, roster: d.making.Roster}
	}
}

// tear is what a crash makes of a write that is under way.
func (w *World) tear(p int32) {
	d := &w.processes[p].disk
	if d.busy {
		w.half(p)
	}
	d.busy, d.queued = false, node.Write{}
	d.turn++
}

// damage leaves a file that cannot be read. The agent does not start with it until somebody has
// deleted the directory: it starts with a new one.
func (w *World) damage(p int32) {
	d := &w.processes[p].disk
	if d.number+1 < maxStateIDs && w.processes[p].replacedUntil == 0 {
		*d = disk{number: d.number + 1, turn: d.turn}
		w.tell("%s: its state directory is damaged", names[p])
	}
}
