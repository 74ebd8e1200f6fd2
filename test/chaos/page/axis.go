package page

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
)

// axis is a logarithmic axis of times in milliseconds, from and to a round figure.
type axis struct{ from, to float64 }

// left is what an axis never goes below: what happened sooner is drawn there. No clock of a run
// resolves less.
const left = 1.0 // ms

// timeline is the axis that all times fit on, with a little room; there is none without times.
func timeline(times ...[]float64) (a axis, ok bool) {
	least, most := math.Inf(1), 0.0
	for _, of := range times {
		for _, t := range of {
			least, most = min(least, max(t, left)), max(most, t, left)
		}
	}
	if math.IsInf(least, 1) {
		return axis{}, false
	}
	for _, mark := range marks(left, 10*most) {
		if mark.Value <= least {
			a.from = mark.Value
		}
		if mark.Value > most {
			a.to = mark.Value
			break
		}
	}
	if a.to/a.from < 10 { // a decade at least, or noise looks like news
		a.to = 10 * a.from
	}
	return a, true
}

// clip moves a time onto the axis.
func (a axis) clip(t float64) float64 { return min(max(t, a.from), a.to) }

// shows reports whether a time is well inside.
func (a axis) shows(t float64) bool { return t > a.from && t < a.to }

// Ticks are at 1, 2 and 5 of each power of ten; the ones and both ends have labels, and all where
// there are few.
func (a axis) Ticks(_, _ float64) []plot.Tick {
	ticks := marks(a.from, a.to)
	ones := 0
	for _, t := range ticks {
		if isPowerOfTen(t.Value) {
			ones++
		}
	}
	for i, t := range ticks[1 : len(ticks)-1] {
		if ones > 2 && !isPowerOfTen(t.Value) {
			ticks[i+1].Label = ""
		}
	}
	return ticks
}

// marks are 1, 2 and 5 of each power of ten between two times, labelled.
func marks(from, to float64) []plot.Tick {
	var all []plot.Tick
	for power := range 10 {
		for _, digit := range []float64{1, 2, 5} {
			if v := digit * math.Pow10(power); v >= from && v <= to {
				all = append(all, plot.Tick{Value: v, Label: label(v)})
			}
		}
	}
	return all
}

// label writes a round number of milliseconds.
func label(milliseconds float64) string {
	if milliseconds < 1000 {
		return fmt.Sprintf("%g ms", milliseconds)
	}
	return fmt.Sprintf("%g s", milliseconds/1000)
}

func isPowerOfTen(v float64) bool {
	for ; v >= 10; v /= 10 {
	}
	return v == 1
}
