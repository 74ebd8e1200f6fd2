package report

import (
	"math"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/podesta-dev/podesta/bench/peers/account"
)

// scale is a logarithmic axis from one power of ten of milliseconds to another.
type scale struct{ from, to int }

// newScale is the scale on which all fit. What took less than a millisecond is drawn there.
func newScale(all account.Durations) scale {
	s := scale{from: decades, to: 0}
	for _, d := range all {
		power := exponent(d)
		s.from, s.to = min(s.from, int(math.Floor(power))), max(s.to, int(math.Ceil(power)))
	}
	if s.from > s.to {
		s.from = s.to
	}
	if s.from == s.to {
		s.to++
	}
	return s
}

func exponent(d time.Duration) float64 {
	return math.Log10(max(1, float64(d.Microseconds())/1000))
}

// x is where a duration is.
func (s scale) x(d time.Duration) vg.Length {
	share := (exponent(d) - float64(s.from)) / float64(s.to-s.from)
	return border + names + vg.Length(share)*(width-2*border-names)
}

// draw draws the lines of 1, 2 and 5 of each power, and the labels of the ones.
func (s scale) draw(c draw.Canvas, high, low vg.Length) {
	for power := s.from; power <= s.to; power++ {
		for _, digit := range []float64{1, 2, 5} {
			ms := digit * math.Pow10(power)
			if ms > math.Pow10(s.to) {
				break
			}
			x := s.x(time.Duration(ms * float64(time.Millisecond)))
			thick := vg.Length(0.5)
			if digit == 1 {
				thick = 1
				style := words(8.5)
				style.XAlign = draw.XCenter
				c.FillText(style, vg.Point{X: min(x, width-border-6), Y: high + 4}, label(power))
			}
			c.StrokeLine2(draw.LineStyle{Color: grid, Width: thick}, x, low, x, high)
		}
	}
}
