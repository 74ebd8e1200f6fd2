package group

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// Whoever has been stopped does nothing any more: each time, of many, right after Stop.
func TestStop(t *testing.T) {
	busy, err := begin(exec.Command("sh", "-c", "while :; do :; done"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(busy.kill)
	child := busy.cmd.Process
	for range 50 {
		if err := Stop(child); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if _, state, _ := strings.Cut(string(text), ") "); !strings.HasPrefix(state, "T") {
			t.Fatalf("it goes on: %s", text)
		}
		if err := child.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	busy.kill()
	if err := Stop(child); err == nil {
		t.Error("a child that has ended was stopped")
	}
}
