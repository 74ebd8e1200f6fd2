package docs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/timing"
)

// The guide and kubectl explain have the values of the profiles as the code has them.
func TestProfiles(t *testing.T) {
	guide := read(t, "docs/guides/timing.md")
	crd := read(t, "config/crd/bases/podesta.dev_electiongroups.yaml")
	explain := strings.Join(strings.Fields(crd), " ")
	written := func(d time.Duration) string {
		if d < time.Second {
			return fmt.Sprintf("%d ms", d.Milliseconds())
		}
		return fmt.Sprintf("%v s", d.Seconds())
	}
	fields := map[string]func(timing.Timing) time.Duration{
		"heartbeat":     func(t timing.Timing) time.Duration { return t.Heartbeat },
		"timeout":       func(t timing.Timing) time.Duration { return t.Timeout },
		"longest lease": func(t timing.Timing) time.Duration { return t.Lease },
		"shortest":      func(t timing.Timing) time.Duration { return t.LeaseMinimum },
	}
	profiles := timing.Profiles()
	for _, p := range profiles {
		name := "`" + p.Name + "`"
		if p.Name == timing.Default {
			name += " (default)"
		}
		row := fmt.Sprintf("| %s | %s to %s | %s, %s | about %s | %s | %s | over %s |", name,
			written(p.LeaseMinimum), written(p.Lease), written(p.Heartbeat), written(p.Timeout),
			written(p.LeaseMinimum), written(p.Stops), written(p.Stands), written(2*p.Lease))
		if !strings.Contains(guide, row) {
			t.Errorf("docs/guides/timing.md has no row that begins with\n%s", row)
		}
	}
	for field, of := range fields {
		fast, balanced, patient := of(profiles[0].Timing), of(profiles[1].Timing), of(profiles[2].Timing)
		says := fmt.Sprintf("the profile decides: Fast %d, Balanced %d, Patient %d.",
			fast.Milliseconds(), balanced.Milliseconds(), patient.Milliseconds())
		if fast == balanced {
			says = fmt.Sprintf("the profile decides: Fast and Balanced %d, Patient %d.",
				fast.Milliseconds(), patient.Milliseconds())
		}
		if !strings.Contains(explain, says) {
			t.Errorf("kubectl explain does not say of the %s that %s", field, says)
		}
	}
}
