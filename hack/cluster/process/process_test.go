package process

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets this binary play the programs of the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "tether" {
		fmt.Fprintln(os.Stderr, Tether(os.Args[2:]))
		os.Exit(1)
	}
	if len(os.Args) > 2 && os.Args[1] == "parent" { // starts a tethered shell, says so, and waits to be killed
		cmd := exec.Command(os.Args[0], "tether", strconv.Itoa(os.Getpid()), "/bin/sh", "-c", os.Args[2])
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// shell starts a script and returns a reader of what it prints.
func shell(t *testing.T, script string) (*Process, *bufio.Reader) {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	p, err := Start(Spec{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Dir: t.TempDir(), Output: in})
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill(); <-p.Done() })
	return p, bufio.NewReader(out)
}

func line(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	text, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("reading the child's output: %v", err)
	}
	return strings.TrimSpace(text)
}

func TestAnExitIsToldAsItWas(t *testing.T) {
	for script, want := range map[string]Exit{
		"exit 0":        {},
		"exit 3":        {Code: 3},
		"kill -9 $$":    {Code: 137, Signal: 9},
		"kill -TERM $$": {Code: 143, Signal: 15},
	} {
		p, _ := shell(t, script)
		<-p.Done()
		if got := p.Exit(); got.Code != want.Code || got.Signal != want.Signal || got.Finished.Before(got.Started) {
			t.Errorf("%s: %+v, want %+v", script, got, want)
		}
	}
}

func TestAProcessInheritsNothing(t *testing.T) {
	t.Setenv("SECRET", "of this program")
	_, out := shell(t, `echo "[$SECRET]"`)
	if got := line(t, out); got != "[]" {
		t.Errorf("the child sees SECRET=%s", got)
	}
}

func TestWhatAProcessLeavesBehindDiesWithIt(t *testing.T) {
	p, out := shell(t, `sh -c 'trap "" TERM; echo up; while :; do sleep 1000; done' & read x < /dev/null; wait $! & sleep 1000`)
	line(t, out)
	if err := p.Signal(syscall.SIGTERM); err != nil { // to the first process only
		t.Fatal(err)
	}
	<-p.Done()
	if _, err := out.ReadString('\n'); err == nil { // the pipe ends when the last one that holds it has ended
		t.Error("somebody still writes")
	}
}

func TestStopKillsWhatIgnoresItsGrace(t *testing.T) {
	p, out := shell(t, `trap "" TERM; echo up; while :; do sleep 1000; done`)
	line(t, out)
	p.Stop(10 * time.Millisecond)
	if got := p.Exit().Signal; got != 9 {
		t.Errorf("it ended by signal %d, want 9", got)
	}
}

func TestATetheredChildDiesWithItsParent(t *testing.T) {
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(me, "parent", "echo up; exec sleep 1000")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(out)
	line(t, reader)
	_ = parent.Process.Kill()
	if _, err := reader.ReadString('\n'); err == nil {
		t.Error("the child outlives its parent")
	}
	_ = parent.Wait()
}

// A program whose parent has ended before it could be tethered is not started.
func TestATetherNeedsItsParent(t *testing.T) {
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own := strconv.Itoa(os.Getpid())
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{own, "/bin/true"}, "has ended already"}, // its parent is the shell
		{[]string{"me", "/bin/true"}, `"me" is no process ID`},
		{[]string{own}, "name the process ID"},
	} {
		shell := append([]string{"-c", `"$@"; true`, "sh", me, "tether"}, c.args...)
		said, err := exec.Command("/bin/sh", shell...).CombinedOutput()
		if err != nil || !strings.Contains(string(said), c.want) {
			t.Errorf("tether %v: %v, it says %q, want %q", c.args, err, said, c.want)
		}
	}
}

func TestASupervisedProgramIsStartedAgain(t *testing.T) {
	dir := t.TempDir()
	said := make(chan string, 100)
	s := Supervised{
		Path: "/bin/sleep", Args: []string{"1000"},
		Log: filepath.Join(dir, "log"), PIDFile: filepath.Join(dir, "pid"), Report: func(text string) { said <- text },
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	pid := func() (pid int) {
		for text := range said {
			if strings.Contains(text, "runs as process") {
				break
			}
		}
		text, err := os.ReadFile(s.PIDFile)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(string(text), &pid); err != nil || pid <= 1 { // 0 would be this very process, and it lives
			t.Fatalf("the file with the process id says %q: %v", text, err)
		}
		return pid
	}
	first := pid()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatalf("process %d: %v", first, err)
	}
	if second := pid(); second == first || syscall.Kill(second, 0) != nil {
		t.Errorf("process %d after %d", second, first)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.PIDFile); err == nil {
		t.Error("the file with the process id is still there")
	}
}

// Whoever reads only what the cluster reports learns why a program ends.
func TestTheEndOfASupervisedProgramIsToldWithItsLastWords(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	told := ""
	s := Supervised{
		Path: "/bin/sh", Args: []string{"-c", "echo it begins; echo the port is taken; echo; exit 3"},
		Log: filepath.Join(dir, "log"), PIDFile: filepath.Join(dir, "pid"),
		Report: func(text string) {
			if strings.Contains(text, "exit code 3") {
				told = text
				cancel()
			}
		},
	}
	if err := s.Run(ctx); err != nil || !strings.HasSuffix(told, "it last said: the port is taken") {
		t.Errorf("told %q, %v", told, err)
	}
}
