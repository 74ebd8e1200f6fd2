package main

import (
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
type result struct{ phase, what, figure string }

// results are the figures so far, in order. One goroutine adds to them.
type results struct{ all []result }

func (r *results) add(phase, what string, value float64, unit string) {
	figure := number(value, unit)
	r.all = append(r.all, result{phase, what, figure})
	fmt.Fprintf(os.Stderr, "scale:   %s: %s: %s\n", phase, what, figure)
}

// number writes a figure with as many digits as mean something.
func number(value float64, unit string) string {
	digits := 0
	if value < 100 && value != float64(int64(value)) {
		digits = 2
	}
	return strings.TrimSpace(strconv.FormatFloat(value, 'f', digits, 64) + " " + unit)
}

// write prints the table, and writes it to the directory.
func (r *results) write(out io.Writer, dir string) error {
	var table strings.Builder
	table.WriteString("| phase | what | figure |\n|---|---|---|\n")
	for _, one := range r.all {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", one.phase, one.what, one.figure)
	}
	fmt.Fprint(out, table.String())
	return os.WriteFile(filepath.Join(dir, "results.md"), []byte(table.String()), 0o600)
}

const mebibyte = 1 << 20

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
