package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

const story = `process A is the coordinator
  A writes: done
A is paused; its lease runs out; B is the coordinator
  B writes: done
A wakes up and continues its work
  A writes: refused, epoch 27993600.1 is stale: 27993600.2 was seen; stop acting, another process coordinates
the resource has restarted; A tries once more
  A writes: refused, epoch 27993600.1 is stale: 27993600.2 was seen; stop acting, another process coordinates
the value is "by B"
`

func TestTheStaleWriteIsRefused(t *testing.T) {
	defer goleak.VerifyNone(t)
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != story {
		t.Errorf("it went otherwise:\n%s", out.String())
	}
}
