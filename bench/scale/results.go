package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/test/quantile"
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

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// addLags adds how long statuses took to show what agents had reported.
func (r *results) addLags(phase string, lags []time.Duration) {
	r.add(phase, "failovers that the status has shown", float64(len(lags)), "")
	for _, q := range []struct {
		name  string
		share float64
	}{{"p50", 0.5}, {"p99", 0.99}, {"worst", 1}} {
		r.add(phase, "status after the reports, "+q.name, milliseconds(quantile.Of(lags, q.share)), "ms")
	}
}
