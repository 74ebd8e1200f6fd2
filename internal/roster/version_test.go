package roster

import (
	"strings"
	"testing"
)

// A version goes into the group's status and from there to terminals.
func TestVersionsThatAreShown(t *testing.T) {
	for _, version := range []string{"", "v1.2.3", "v0.0.0-20261121094400-0c26c12f0000+dirty",
		"development", "(devel)", "1.0~rc1", "main@sha256:00ff", strings.Repeat("v", maxWord)} {
		got, err := reportFromWire(reportToWire(Report{Version: version}))
		if err != nil || got.Version != version {
			t.Errorf("version %q: %q (%v)", version, got.Version, err)
		}
	}
	for _, version := range []string{"v1\x1b[2J", "v1\x1b]0;owned\a", "v1\nv2", "v1\r", "v1\u202e", "v1 ",
		"vé", "\x00", strings.Repeat("v", maxWord+1)} {
		_, err := reportFromWire(reportToWire(Report{Version: version}))
		if err == nil || !strings.Contains(err.Error(), "must be letters, digits and") {
			t.Errorf("version %q: %v, want it refused", version, err)
		}
	}
}
