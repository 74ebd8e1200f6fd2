package sim

import (
	"errors"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
)

// The oracle is tried: what is broken on purpose is found within some seeds, as what it is.
func TestOracleFindsWhatIsBroken(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken sabotage
		finds  []string
		o      func(o *Options)
	}{
		{"a ledger that forgets what the app was told", sabotage{forgetTold: true}, []string{"G8", "G1"},
			func(o *Options) { o.Sicken, o.Leave = 5, 2 }},
		{"a permission that is not withdrawn", sabotage{keepPermission: true}, []string{"G8", "G1"},
			func(o *Options) { o.Sicken, o.Leave = 5, 2 }},
		{"a voter that forgets what it has promised", sabotage{forgetState: true}, []string{"G1", "G2", "G3", "G4"},
			func(o *Options) { o.Crash = 5 }},
		{"a disk that lies", sabotage{confirmAll: true}, []string{"V11", "G4", "G2", "G5"},
			func(o *Options) { o.Disks.Refused = 300 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := NewWorld()
			w.sabotage = c.broken
			for seed := range uint64(400) {
				o := DrawGuarded(election.Algorithms()[seed%6], seed)
				o.Beyond, o.Rate, o.Ragged = false, min(o.Rate, 95), false
				c.o(&o)
				var failure *Failure
				if !errors.As(w.Run(o), &failure) {
					continue
				}
				what := failure.Broken
				for _, g := range c.finds {
					if strings.HasPrefix(what, g+":") || strings.HasPrefix(what, g+",") {
						t.Logf("seed %d: %s", seed, what)
						return
					}
				}
			}
			t.Error("nothing of it was noticed in 400 seeds")
		})
	}
}
