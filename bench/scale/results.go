package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// result is one figure.
type result struct {
	Phase string  `json:"phase"`
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// results are the figures so far, in order. One goroutine adds to them.
type results struct{ all []result }

func (r *results) add(phase, what string, value float64, unit string) {
	r.all = append(r.all, result{
		Phase: phase,
		What:  what,
		Value: value,
		Unit:  unit,
	})
	fmt.Fprintf(os.Stderr, "scale:   %s: %s: %s\n", phase, what, number(value, unit))
}

// number writes a figure with as many digits as mean something.
func number(value float64, unit string) string {
	digits := 0
	if value < 100 && value != float64(int64(value)) {
		digits = 2
	}
	return strings.TrimSpace(strconv.FormatFloat(value, 'f', digits, 64) + " " + unit)
}

// write prints the table, and writes it and the JSON lines to the directory.
func (r *results) write(out io.Writer, dir string) error {
	var table, lines strings.Builder
	table.WriteString("| phase | what | figure |\n|---|---|---|\n")
	encoder := json.NewEncoder(&lines)
	for _, one := range r.all {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", one.Phase, one.What, number(one.Value, one.Unit))
		if err := encoder.Encode(one); err != nil {
			return err
		}
	}
	fmt.Fprint(out, table.String())
	for name, text := range map[string]string{
		"results.md":    table.String(),
		"results.jsonl": lines.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

const (
	mebibyte = 1 << 20
	kibibyte = 1 << 10
)

// lags are how long statuses took to show what agents had reported.
type lags []time.Duration

// quantile is the nearest rank; 0 if there are none.
func (l lags) quantile(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l))
	i := int(q*float64(len(l))+0.5) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// addLags adds the figures of statuses that followed reports.
func (r *results) addLags(phase string, l lags) {
	r.add(phase, "failovers that the status has shown", float64(len(l)), "")
	r.add(phase, "status after the reports, p50", milliseconds(l.quantile(0.5)), "ms")
	r.add(phase, "status after the reports, p99", milliseconds(l.quantile(0.99)), "ms")
	r.add(phase, "status after the reports, worst", milliseconds(l.quantile(1)), "ms")
}
