package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The proxies go before busy loops, and nothing that the program starts does.
func TestStayAhead(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if err := stayAhead(ctx); err != nil {
		t.Skip(err)
	}
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Nice != foremost {
		t.Errorf("this thread has %+v, %v", attr, err)
	}
	out, err := exec.Command("nice").CombinedOutput() // prints its own
	if err != nil || strings.TrimSpace(string(out)) != "0" {
		t.Errorf("what it starts has the niceness %s, %v", out, err)
	}
}
