// Command page writes docs/evidence/chaos.md and its plots from the report that a chaos run has
// left:
//
//	go run -C test/chaos/page ./cmd/page --report "$PWD/chaos.json" --out "$PWD/docs/evidence"
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/podesta-dev/podesta/test/chaos/page"
)

func main() {
	file := flag.String("report", "chaos.json", "the report of a run")
	out := flag.String("out", "docs/evidence", "the directory that gets chaos.md and chaos/*.svg")
	flag.Parse()
	if err := run(*file, *out); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func run(file, out string) error {
	report, err := page.Read(file)
	if err != nil {
		return err
	}
	return page.Write(report, out)
}
