package main

import (
	"strings"
	"sync"
	"testing"
)

// A search is tried without a mutant once, whoever asks, and must find nothing then.
func TestWithout(t *testing.T) {
	var w without
	ran := map[string]int{}
	found := map[string]string{"sound": nobody, "broken": "G1"}
	var asking sync.WaitGroup
	for range 3 {
		for name, what := range found {
			asking.Go(func() {
				err := w.once(name, func() (string, error) {
					w.mu.Lock()
					defer w.mu.Unlock()
					ran[name]++
					return what, nil
				})
				if broken := name == "broken"; broken != (err != nil) {
					t.Errorf("%s: %v", name, err)
				}
				if err != nil && !strings.Contains(err.Error(), "without a mutant, broken finds G1") {
					t.Error(err)
				}
			})
		}
	}
	asking.Wait()
	for name := range found {
		if ran[name] != 1 {
			t.Errorf("%s ran %d times", name, ran[name])
		}
	}
}
