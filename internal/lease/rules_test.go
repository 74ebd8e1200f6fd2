package lease

import "testing"

// A build supports its newest rules level and the one below it; 0 counts as 1.
func TestSupports(t *testing.T) {
	for _, test := range []struct {
		newest, level int32
		want          bool
	}{
		{0, 0, true}, {0, 1, true}, {1, 0, true}, {1, 1, true}, {2, 0, true},
		{1, 2, false}, {2, 1, true}, {2, 2, true}, {2, 3, false},
		{3, 1, false}, {3, 0, false}, {3, 2, true}, {3, 3, true},
	} {
		if got := Supports(test.newest, test.level); got != test.want {
			t.Errorf("newest %d, level %d: %v", test.newest, test.level, got)
		}
	}
}
