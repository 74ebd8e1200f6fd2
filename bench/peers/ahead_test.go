package main

import (
	"context"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// The proxies go before busy loops, and nothing that the program starts does because of that.
func TestStayAhead(t *testing.T) {
	runtime.LockOSThread() // to one that is asked for
	defer runtime.UnlockOSThread()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if err := stayAhead(ctx); err != nil {
		t.Skip(err)
	}
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Runtime != 0 && attr.Runtime != uint64(slice) {
		t.Errorf("this thread has %+v, %v", attr, err)
	}
	if attr.Runtime == 0 {
		t.Skip("before Linux 6.12 all threads have the same slices")
	}
	child := exec.CommandContext(t.Context(), "sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	if attr, err := unix.SchedGetAttr(child.Process.Pid, 0); err != nil || attr.Runtime == uint64(slice) {
		t.Errorf("what it starts has %+v, %v", attr, err)
	}
}
