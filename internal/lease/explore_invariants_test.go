package lease_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// What must hold in every world that an exploration comes about.

func (x *exploration) fail(w *world, format string, args ...any) {
	if x.failed == nil {
		x.failed = fmt.Errorf("%s:\n%s", fmt.Sprintf(format, args...), w.path)
	}
}

// granted notes that a voter has promised: G4, G2.
func (x *exploration) granted(
	w *world,
	v int,
	to lease.Incarnation,
	e lease.Epoch,
	until time.Duration,
) {
	g := &w.ghosts[v]
	now := w.clocks[v]
	switch {
	case x.slow && g.hasReleased(to, e): // before the grant of it was said
		return
	case g.amnesiac:
		x.fail(w, "G4: %s promises %s to %s without its state directory", members[v], e, to.Name)
	case g.to != to && now < g.until:
		x.fail(
			w,
			"G4: %s promises %s to %v, and %s to %v still runs",
			members[v],
			e,
			to,
			g.epoch,
			g.to,
		)
	case g.to != to:
		g.until = 0
	}
	g.to, g.epoch, g.until = to, max(e, g.epoch), max(g.until, until)
	for i := range w.owners {
		if o := &w.owners[i]; o.epoch == e && o.incarnation == to {
			o.voters |= 1 << v
			return
		}
	}
	w.owners = append(w.owners, owner{epoch: e, incarnation: to, voters: 1 << v})
}

// hasReleased reports whether an incarnation has given back an epoch: a grant of it binds nobody.
func (g *ghost) hasReleased(by lease.Incarnation, e lease.Epoch) bool {
	return slices.ContainsFunc(g.released[:], func(r release) bool {
		return r.by == by && e <= r.epoch
	})
}

// free ends a promise (V10).
func (w *world) free(v int, by lease.Incarnation, e lease.Epoch) {
	w.ghosts[v].released[slices.Index(members[:], by.Name)] = release{by, e}
	if g := &w.ghosts[v]; g.to == by && g.epoch <= e {
		g.until = min(g.until, w.clocks[v])
	}
}

// release: nothing that the app was told runs any more (G8).
func (x *exploration) release(w *world, p int, e lease.Epoch) {
	if w.clocks[p] < w.told[p] {
		x.fail(
			w,
			"G8: %s releases %s, and its app may act for %v more",
			members[p],
			e,
			w.told[p]-w.clocks[p],
		)
	}
}

// check looks at a whole world.
func (x *exploration) check(w *world) {
	held := -1
	for p := range procs {
		if w.clocks[p] < w.told[p] {
			if held >= 0 {
				x.fail(w, "G1: %s and %s may act", members[held], members[p])
			}
			held = p
		}
		if w.permitted(p) > w.clocks[p] {
			x.checkHolder(w, p)
		}
		if _, e, bound := w.machines[p].Following(); bound && e > 0 {
			if e < w.followed[p] {
				x.fail(w, "G3: %s follows %s after %s", members[p], e, w.followed[p])
			}
			w.followed[p] = e
		}
	}
}

// checkHolder: G2, G5, G6 for a process that may act.
func (x *exploration) checkHolder(w *world, p int) {
	e, _ := w.machines[p].Epochs()
	for i := range w.owners {
		o := &w.owners[i]
		switch {
		case o.epoch == e && o.incarnation == w.incarnations[p]:
			o.acted = true
			if n := ones(o.voters); n < 2 {
				x.fail(w, "G6: %s acts under %s, which %d of 3 have promised", members[p], e, n)
			}
		case o.epoch == e && o.acted:
			x.fail(w, "G2: %s acts under %s, and so did %v", members[p], e, o.incarnation)
		}
	}
	w.machines[p].Believed(w.clocks[p], func(v lease.Member, _ lease.Instant) {
		for q, name := range members {
			if g := &w.ghosts[q]; name == v.Name && !g.amnesiac &&
				(g.to != w.incarnations[p] || w.clocks[q] >= g.until) {
				x.fail(w, "G5: %s relies on a promise of %s that does not run", members[p], name)
			}
		}
	})
}

func ones(b uint8) (n int) {
	for ; b != 0; b &= b - 1 {
		n++
	}
	return n
}
