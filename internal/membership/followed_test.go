package membership

import "testing"

func TestFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		of     int
		epochs map[string][]int64
		want   string
		epoch  int64
	}{
		"nobody reports":                    {3, nil, "", 0},
		"nobody counts":                     {0, nil, "", 0},
		"half is no majority":               {4, map[string][]int64{"a": {1, 1}, "b": {1, 1}}, "", 0},
		"a majority":                        {3, map[string][]int64{"a": {1, 1}, "b": {9}}, "a", 1},
		"one has reached a higher epoch":    {3, map[string][]int64{"a": {1, 2, 1}}, "a", 1},
		"a majority has reached a higher":   {3, map[string][]int64{"a": {2, 1, 2}}, "a", 2},
		"of five, four reach three epochs":  {5, map[string][]int64{"a": {4, 1, 3, 2}}, "a", 2},
		"a Classic group":                   {2, map[string][]int64{"a": {0, 0}}, "a", 0},
		"those that do not report may know": {5, map[string][]int64{"a": {3, 3}}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got, epoch := Followed(c.of, c.epochs); got != c.want || epoch != c.epoch {
				t.Errorf("%q under %d, want %q under %d", got, epoch, c.want, c.epoch)
			}
		})
	}
}
