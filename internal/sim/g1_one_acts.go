package sim

// G1: at no instant may two processes act: neither by what their machines hold, nor by what their
// apps were told. (With clocks beyond the bound it may happen; then it is counted.)

// checkAlone checks G1 for the machines, when what a process relies on changes.
func (w *World) checkAlone(p int32, o *oracle) {
	h := &o.holds[p]
	if !w.timed() {
		return
	}
	for q := range o.holds {
		if other := &o.holds[q]; int32(q) != p && other.epoch != 0 && w.now < other.until {
			w.fail("G1: %s and %s hold %s and %s at once", names[p], names[q], h.epoch, other.epoch)
		}
	}
}

// checkApps checks G1 for the apps, when one is told that it may act.
func (w *World) checkApps(p int32) {
	mine := &w.processes[p].app
	for q := range w.processes {
		theirs := &w.processes[q].app
		switch {
		case int32(q) == p || theirs.group != mine.group || !w.acts(int32(q)):
		case !w.timed():
			w.Overlaps++
		default:
			w.fail("G1: the apps of %s and %s may act under %s and %s at once", names[p], names[q],
				mine.epoch, theirs.epoch)
		}
	}
}
