//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	_, _ = fmt.Fprintln(os.Stderr, "lead: it runs on Linux: elsewhere nothing ends a command in time")
	os.Exit(exitUsage)
}
