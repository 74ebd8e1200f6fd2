package main

import (
	"fmt"
	"io"
	"time"
)

// silence is after how long a command that waits says for what.
const silence = 2 * time.Second

// waiting has a command say that it waits for something, if that takes longer than silence. When
// what is returned has been called, nothing is said any more.
func waiting(notes io.Writer, format string, args ...any) (over func()) {
	said := make(chan struct{})
	timer := time.AfterFunc(silence, func() {
		defer close(said)
		fmt.Fprintf(notes, format+" …\n", args...)
	})
	return func() {
		if !timer.Stop() {
			<-said
		}
	}
}
