// Package scrape judges an exposition of metrics as Prometheus and its linter do, and compares it
// with docs/reference/metrics.md. It is for tests.
package scrape

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Families are the families of an exposition, by name.
type Families map[string]*dto.MetricFamily

// Parse reads an exposition in the text format, strictly: each family has HELP and TYPE and is in
// one piece, and each histogram is whole.
func Parse(text []byte) (Families, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	all, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	types := map[string]int{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "# TYPE "); ok {
			name, _, _ = strings.Cut(name, " ")
			types[name]++
		}
	}
	for name, family := range all {
		switch {
		case types[name] != 1:
			return nil, fmt.Errorf("%s: it has %d lines TYPE, want 1", name, types[name])
		case family.GetHelp() == "":
			return nil, fmt.Errorf("%s: it has no HELP", name)
		}
		for _, m := range family.GetMetric() {
			if err := whole(family, m); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return all, nil
}

// whole reports what a histogram or a counter lacks.
func whole(family *dto.MetricFamily, m *dto.Metric) error {
	if family.GetType() == dto.MetricType_COUNTER && m.GetCounter().GetValue() < 0 {
		return fmt.Errorf("the counter is %v", m.GetCounter().GetValue())
	}
	h := m.GetHistogram()
	if family.GetType() != dto.MetricType_HISTOGRAM {
		return nil
	}
	buckets := h.GetBucket()
	if len(buckets) == 0 || !math.IsInf(buckets[len(buckets)-1].GetUpperBound(), 1) {
		return fmt.Errorf("the histogram has no bucket of everything: %v", h)
	}
	for i, b := range buckets[1:] {
		if b.GetUpperBound() <= buckets[i].GetUpperBound() ||
			b.GetCumulativeCount() < buckets[i].GetCumulativeCount() {
			return fmt.Errorf("the buckets are not cumulative: %v", h)
		}
	}
	if all := buckets[len(buckets)-1].GetCumulativeCount(); all != h.GetSampleCount() {
		return fmt.Errorf("%d observations, %d in the last bucket", h.GetSampleCount(), all)
	}
	return nil
}

// Lint returns what `promtool check metrics` has to say, except of the families that are excused.
func Lint(text []byte, excused func(family string) bool) ([]string, error) {
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	var all []string
	for _, p := range problems {
		if !excused(p.Metric) {
			all = append(all, p.Metric+": "+p.Text)
		}
	}
	return all, err
}

// Lost returns the series of an exposition that a later one has no more, except those of the
// families that may lose some.
func Lost(before, after Families, may ...string) []string {
	later := after.series()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(before.series())), func(series string) bool {
		name, _, _ := strings.Cut(series, "{")
		return later[series] || slices.Contains(may, name)
	})
}

// series are all series, each as its family with its labels in braces.
func (f Families) series() map[string]bool {
	all := map[string]bool{}
	for name, family := range f {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			slices.Sort(labels)
			all[name+"{"+strings.Join(labels, ",")+"}"] = true
		}
	}
	return all
}

// Documented are the rows of the tables under a heading of the page, as Shapes says them. A row is
// `| name | type | labels | meaning |`.
func Documented(page, heading string) []string {
	_, section, _ := strings.Cut(page, "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var all []string
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 || !strings.Contains(cells[1], "`") {
			continue
		}
		labels := strings.Fields(strings.NewReplacer("`", "", ",", " ").Replace(cells[3]))
		slices.Sort(labels)
		name := strings.Trim(strings.TrimSpace(cells[1]), "`")
		all = append(all, shape(name, strings.TrimSpace(cells[2]), labels))
	}
	slices.Sort(all)
	return all
}

// Shapes are name, type and labels of the families of which ours says that they are ours, sorted.
func (f Families) Shapes(ours func(family string) bool) []string {
	var all []string
	for name, family := range f {
		if !ours(name) {
			continue
		}
		labels := map[string]bool{}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = true
			}
		}
		kind := strings.ToLower(family.GetType().String())
		all = append(all, shape(name, kind, slices.Sorted(maps.Keys(labels))))
	}
	slices.Sort(all)
	return all
}

func shape(name, kind string, labels []string) string {
	return name + " " + kind + " {" + strings.Join(labels, ",") + "}"
}
