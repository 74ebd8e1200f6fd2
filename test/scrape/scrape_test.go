package scrape_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/test/scrape"
)

func nobody(string) bool { return false }

// TestRefuses: what Prometheus would take, and conventions do not allow, is noticed.
func TestRefuses(t *testing.T) {
	const help = "# HELP a_total What a counts.\n# TYPE a_total counter\n"
	for name, c := range map[string]struct{ text, want string }{
		"no metadata":   {"a_total 1\n", "TYPE"},
		"no HELP":       {"# TYPE a_total counter\na_total 1\n", "no HELP"},
		"an empty HELP": {"# HELP a_total\n# TYPE a_total counter\na_total 1\n", "no HELP"},
		"twice":         {help + "a_total 1\n" + help + "a_total 2\n", "second"},
		"no +Inf": {"# HELP h_seconds H.\n# TYPE h_seconds histogram\nh_seconds_bucket{le=\"1\"} 1\n" +
			"h_seconds_sum 1\nh_seconds_count 1\n", "bucket of everything"},
		"too few": {"# HELP h_seconds H.\n# TYPE h_seconds histogram\nh_seconds_bucket{le=\"+Inf\"} 1\n" +
			"h_seconds_sum 1\nh_seconds_count 2\n", "in the last bucket"},
		"not cumulative": {"# HELP h_seconds H.\n# TYPE h_seconds histogram\nh_seconds_bucket{le=\"1\"} 2\n" +
			"h_seconds_bucket{le=\"+Inf\"} 1\nh_seconds_sum 1\nh_seconds_count 1\n", "not cumulative"},
	} {
		if _, err := scrape.Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if said, err := scrape.Lint([]byte("# HELP a A.\n# TYPE a counter\na 1\n"), nobody); err != nil || len(said) != 1 {
		t.Errorf("a counter without _total: %v, %v", said, err)
	}
}

func TestCompares(t *testing.T) {
	parse := func(text string) scrape.Families {
		f, err := scrape.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	const help = "# HELP a A.\n# TYPE a gauge\n"
	before, after := parse(help+"a{x=\"1\",y=\"2\"} 1\na{x=\"3\",y=\"2\"} 1\n"), parse(help+"a{y=\"2\",x=\"1\"} 7\n")
	if lost, want := scrape.Lost(before, after), []string{`a{x="3",y="2"}`}; !slices.Equal(lost, want) {
		t.Errorf("lost %v, want %v", lost, want)
	}
	if lost := scrape.Lost(before, after, "a"); len(lost) > 0 {
		t.Errorf("lost %v, which it may", lost)
	}
	const page = "# Page\n\n## Mine\n\n| metric | type | labels | |\n|---|---|---|---|\n| `a` | gauge | `y`, `x` | a |\n\n" +
		"## Yours\n\n| `b` | gauge | | b |\n"
	if got, want := scrape.Documented(page, "Mine"), before.Shapes(func(string) bool { return true }); !slices.Equal(got, want) {
		t.Errorf("documented %v, exposed %v", got, want)
	}
}
