package quantile_test

import (
	"testing"

	"github.com/podesta-dev/podesta/test/quantile"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		n     int // the values are n to 1
		share float64
		want  int
	}{
		{0, 0.5, 0},
		{1, 0.5, 1}, {1, 0.99, 1},
		{3, 0.5, 2}, {3, 1, 3},
		{8, 0, 1}, {8, 0.5, 4}, {8, 0.9, 8}, {8, 0.99, 8},
		{20, 0.5, 10}, {20, 0.9, 18}, {20, 1, 20},
		{60, 0.99, 60}, {69, 0.99, 69}, {99, 0.99, 99},
		{100, 0.07, 7}, {100, 0.5, 50}, {100, 0.9, 90}, {100, 0.99, 99}, {100, 1, 100},
		{101, 0.99, 100}, {700, 0.99, 693},
	} {
		var values []int
		for i := c.n; i > 0; i-- {
			values = append(values, i)
		}
		if got := quantile.Of(values, c.share); got != c.want {
			t.Errorf("%v of 1 to %d is %d, want %d", c.share, c.n, got, c.want)
		}
	}
}
