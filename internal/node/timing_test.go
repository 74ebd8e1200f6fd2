package node

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// T may grow beyond its bound in large groups of bullies only.
func TestWhereTMayGrow(t *testing.T) {
	for _, c := range []struct {
		algorithm string
		processes int
		timeout   time.Duration
		want      time.Duration // 0: it may not
	}{
		{"Bully", 41, 500 * time.Millisecond, 2050 * time.Millisecond},
		{"StatusTableBully", 100, 500 * time.Millisecond, 5 * time.Second},
		{"Bully", 50, 5 * time.Second, 5 * time.Second},
		{"Bully", 40, 500 * time.Millisecond, 0},
		{"ChangRoberts", 100, 500 * time.Millisecond, 0},
	} {
		got := timing(&Roster{
			Algorithm: c.algorithm,
			Timeout:   c.timeout,
			Members:   make([]lease.Member, c.processes),
		})
		if got.Crowded != c.want {
			t.Errorf("%+v: T may become %v", c, got.Crowded)
		}
	}
}
