package main

import (
	"fmt"
	"os"
	"time"
)

// during prints how far a step is, every two seconds, until the function that it returns is called.
func during(what string, far func() string) (done func()) {
	const period = 2 * time.Second
	begun, end, ended := time.Now(), make(chan struct{}), make(chan struct{})
	fmt.Fprintf(os.Stderr, "scale: %s\n", what)
	go func() {
		defer close(ended)
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				return
			case <-ticker.C:
				fmt.Fprintf(os.Stderr, "scale:   %3.0f s  %s\n", time.Since(begun).Seconds(), far())
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}
