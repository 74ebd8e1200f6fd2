package sim

// clogSomewhere holds back what travels on some links; it arrives all at once.
func (w *World) clogSomewhere() {
	until := w.now + w.lasting(10*T)
	p, q := w.someone(), w.someone()
	all := w.rng.IntN(2) == 0
	for other := range int32(len(w.processes)) {
		if all || other == q {
			w.pair(p, other).clogged = until
		}
	}
}

// cutSomewhere cuts the network in one of the ways of docs/hazards.md.
func (w *World) cutSomewhere() {
	c := cut{
		shape: w.rng.IntN(shapes),
		salt:  w.rng.Uint32(),
		lasts: w.lasting(40 * T),
		turns: 1,
		about: w.target(),
	}
	if w.Flap {
		c.turns, c.lasts = 1+w.rng.IntN(8), w.within(3*T)
	}
	w.cutOnce(c)
}

// cut is a partition that may come and go.
type cut struct {
	shape, turns int
	about        int32
	salt         uint32
	lasts        Time
}

func (w *World) flap(t *task) {
	if !w.calm {
		w.cutOnce(cut{
			shape: int(t.q),
			about: t.p,
			salt:  uint32(t.number),
			turns: int(t.slot),
			lasts: t.value,
		})
	}
}

// cutOnce cuts, and plans the next turn.
func (w *World) cutOnce(c cut) {
	w.sever(c, w.now+c.lasts)
	if c.turns > 1 {
		t := w.plan(w.now+2*c.lasts, Faults, cutTask, c.about)
		t.q, t.number, t.slot, t.value = int32(c.shape), uint64(c.salt), int32(c.turns-1), c.lasts
	}
}

// sever lets nothing pass on the links of a cut until then.
func (w *World) sever(c cut, until Time) {
	w.tell("cut: %s, about %s, until %s", shapeNames[c.shape], names[c.about], clockFormat(until))
	for a := range int32(len(w.processes)) {
		for b := range int32(len(w.processes)) {
			if a != b && w.severed(c, a, b) {
				w.pair(a, b).cut = until
			}
		}
	}
}

var shapeNames = [...]string{"halves", "isolated", "deaf", "mute", "one way", "bridge",
	"intersecting", "ring edge"}

const shapes = len(shapeNames)

// severed reports whether a cut keeps what a sends from b. The bits of salt say which side a
// process is on.
func (w *World) severed(c cut, a, b int32) bool {
	side := func(q int32) uint32 { return c.salt >> q & 1 }
	n, p := int32(len(w.processes)), c.about
	switch shapeNames[c.shape] {
	case "halves":
		return side(a) != side(b)
	case "isolated":
		return (a == p) != (b == p)
	case "deaf":
		return b == p
	case "mute":
		return a == p
	case "one way":
		return a == p && b == int32(c.salt%uint32(n))
	case "bridge": // p is on both sides
		return a != p && b != p && side(a) != side(b)
	case "intersecting": // p and the next are
		next := (p + 1) % n
		return a != p && b != p && a != next && b != next && side(a) != side(b)
	default:
		return a == p && b == (p+1)%n || b == p && a == (p+1)%n
	}
}
