package lease_test

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/podesta-dev/podesta/internal/lease"
)

// fingerprint collects what tells a world from others.
type fingerprint struct{ b []byte }

func (f *fingerprint) number(all ...int64) {
	for _, n := range all {
		f.b = binary.AppendVarint(f.b, n)
	}
}

func (f *fingerprint) name(n string) {
	f.number(int64(len(n)))
	f.b = append(f.b, n...)
}

func (f *fingerprint) flags(all ...bool) {
	for _, is := range all {
		if is {
			f.b = append(f.b, 1)
		} else {
			f.b = append(f.b, 0)
		}
	}
}

func (f *fingerprint) incarnation(i lease.Incarnation) {
	f.name(i.Name)
	f.number(int64(i.Number))
}

func (f *fingerprint) state(s lease.State) {
	f.number(int64(s.Highest), s.Generation)
	f.incarnation(s.To)
}

// key is the fingerprint of a world.
func (x *exploration) key(w *world) [2]uint64 {
	f := fingerprint{x.scratch[:0]}
	for p := range procs {
		x.addProcess(&f, w, p)
		for q := range procs {
			x.addMail(&f, w, p, q)
		}
	}
	for i := range w.owners {
		o := &w.owners[i]
		f.number(int64(o.epoch), int64(o.voters))
		f.incarnation(o.incarnation)
		f.flags(o.acted)
	}
	for _, left := range [...]int8{
		w.budget.losses, w.budget.restarts, w.budget.amnesias, w.budget.illnesses,
		w.budget.faults, w.budget.steps, w.budget.quanta,
	} {
		f.b = append(f.b, byte(left))
	}
	x.scratch = f.b
	return [2]uint64{maphash.Bytes(x.hash[0], f.b), maphash.Bytes(x.hash[1], f.b)}
}

// addProcess adds a process: its machine, its clock, its disk, its app, and what it has promised.
func (x *exploration) addProcess(f *fingerprint, w *world, p int) {
	g, now := &w.ghosts[p], w.clocks[p]
	f.number(int64(w.digests[p][0]), int64(w.digests[p][1]))
	f.number(int64(now), int64(max(w.told[p]-now, 0)), int64(w.followed[p]))
	f.number(int64(w.incarnations[p].Number), int64(w.rosters[p]))
	f.name(w.nominated[p])
	f.state(w.disks[p])
	f.number(int64(len(w.writes[p])))
	for _, u := range w.writes[p] {
		f.state(u.state)
	}
	f.number(int64(g.epoch), int64(max(g.until-now, 0)))
	f.incarnation(g.to)
	f.flags(g.amnesiac)
	if x.slow {
		for _, r := range g.released {
			f.incarnation(r.by)
			f.number(int64(r.epoch))
		}
	}
}

// addMail adds the letters that are under way from one process to another.
func (x *exploration) addMail(f *fingerprint, w *world, p, q int) {
	f.number(int64(len(w.requests[p][q])), int64(len(w.responses[p][q])))
	for i := range w.requests[p][q] {
		l := &w.requests[p][q][i]
		f.name(string(l.request.Kind))
		f.number(int64(l.from.Number), int64(l.request.Epoch), int64(l.request.Round-x.base(w, p)))
		f.number(int64(l.request.Lease), int64(l.request.Heartbeat))
	}
	for i := range w.responses[p][q] {
		v := &w.responses[p][q][i].response
		f.name(string(v.Kind))
		f.name(v.Holder)
		f.number(int64(v.Epoch), int64(v.Round-x.base(w, q)), v.Generation)
		f.number(int64(v.Highest), int64(v.HolderEpoch), int64(v.Remaining))
		f.flags(v.Granted, v.Heard, v.Candidate)
	}
}

// base is the round from which the rounds of a process count: a shift of all of them makes no
// difference. Responses that wait for a slow disk are counted at another process, so there it does.
func (x *exploration) base(w *world, p int) uint64 {
	if x.slow {
		return 0
	}
	return w.machines[p].Round()
}

// digest notes the fingerprint of a machine.
func (x *exploration) digest(w *world, p int) {
	b := w.machines[p].AppendSnapshot(x.scratch[:0], quantum, x.base(w, p))
	w.digests[p] = [2]uint64{maphash.Bytes(x.hash[0], b), maphash.Bytes(x.hash[1], b)}
	x.scratch = b
}
