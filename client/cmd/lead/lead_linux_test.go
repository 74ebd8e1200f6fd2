package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/internal/fakeagent"
	"github.com/podesta-dev/podesta/client/internal/leak"
)

// binary is the lead that the tests start.
var binary string

func TestMain(m *testing.M) {
	directory, err := os.MkdirTemp("", "lead")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(directory, "lead")
	out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	if err != nil {
		panic(string(out))
	}
	leak.VerifyTestMain(run0(func() int {
		defer os.RemoveAll(directory)
		return m.Run()
	}))
}

type run0 func() int

func (r run0) Run() int { return r() }

// lead is a running one.
type lead struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // of its standard output, which is the command's; closed when all have ended
	said  *bytes.Buffer
}

// command starts lead with an agent, and the script as its command.
func command(t *testing.T, a *fakeagent.Agent, script string, flags ...string) *lead {
	t.Helper()
	return begin(t, exec.Command(binary, append(append([]string{"--agent", a.URL}, flags...),
		"--", "sh", "-c", script)...))
}

func begin(t *testing.T, cmd *exec.Cmd) *lead {
	t.Helper()
	l := &lead{t: t, cmd: cmd, lines: make(chan string, 1<<20), said: &bytes.Buffer{}}
	if cmd.Stderr == nil {
		cmd.Stderr = l.said
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(l.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			l.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("lead said:\n%s", l.said)
		}
	})
	return l
}

// awaits returns once the command has written the line, and fails if it writes another one.
func (l *lead) awaits(want string) {
	l.t.Helper()
	select {
	case got, ok := <-l.lines:
		if !ok || got != want {
			l.t.Fatalf("the command wrote %q (it goes on: %t), want %q", got, ok, want)
		}
	case <-l.t.Context().Done():
	}
}

func (l *lead) signal(s syscall.Signal) { _ = l.cmd.Process.Signal(s) }

// code returns the exit code, when all processes have ended.
func (l *lead) code() int {
	for range l.lines {
	}
	_ = l.cmd.Wait()
	return l.cmd.ProcessState.ExitCode()
}

func newAgent(t *testing.T) *fakeagent.Agent {
	t.Helper()
	a := fakeagent.Start()
	t.Cleanup(a.Close)
	return a
}

// sessions waits until so many sessions were opened, and one is open.
func sessions(t *testing.T, a *fakeagent.Agent, opened int) {
	t.Helper()
	err := a.Await(t.Context().Done(), func(open, ever int) bool { return open == 1 && ever == opened })
	if err != nil {
		t.Fatal(err)
	}
}

// loop writes that it begins, and goes on until it gets SIGTERM.
const loop = `trap 'echo ended; exit 0' TERM
	echo "began $PODESTA_GROUP $PODESTA_NAME $PODESTA_EPOCH"
	while :; do sleep 0.02; done`

func TestACommandRunsWhileThisProcessLeads(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	l := command(t, a, loop)
	sessions(t, a, 1)
	a.Grant(7, time.Minute)
	l.awaits("began a a-0 7")
	a.Revoke()
	l.awaits("ended")
	sessions(t, a, 2) // the permission was given back, and lead is a candidate again
	a.Grant(8, time.Minute)
	l.awaits("began a a-0 8")
	l.signal(syscall.SIGTERM)
	l.awaits("ended")
	if code := l.code(); code != 0 {
		t.Errorf("exit code %d, want the command's", code)
	}
}

// clocks writes what CLOCK_BOOTTIME reads, all the time, in a process of the group, and in one of
// another session whose parent has ended. Neither heeds SIGTERM.
const clocks = `trap '' TERM
	(setsid sh -c 'while :; do cat /proc/uptime; done' &)
	while :; do cat /proc/uptime; done`

// lastClock returns the last reading that was written, when all processes have ended.
func (l *lead) lastClock() (last time.Duration) {
	for line := range l.lines {
		seconds, _ := strconv.ParseFloat(strings.Fields(line + " ")[0], 64)
		last = max(last, time.Duration(seconds*float64(time.Second)))
	}
	return last
}

// Whatever happens to its agent, nothing that a command has started runs when its permission is over.
func TestNothingRunsPastTheDeadline(t *testing.T) {
	for name, lose := range map[string]func(*fakeagent.Agent){
		"the agent is paused": (*fakeagent.Agent).Freeze,
		"the agent dies":      (*fakeagent.Agent).Close,
		"it is revoked":       (*fakeagent.Agent).Revoke,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			l := command(t, a, clocks, "--on-loss", "exit")
			sessions(t, a, 1)
			a.Grant(7, 2*time.Second)
			first := <-l.lines
			lose(a)
			last := l.lastClock()
			if first == "" || last == 0 || last >= a.Told() {
				t.Errorf("it wrote %q first, and last at %v; its permission was over at %v", first, last,
					a.Told())
			}
			if code := l.code(); code != exitLost {
				t.Errorf("exit code %d, want %d", code, exitLost)
			}
		})
	}
}

// As PID 1 of a container lead ends all that is in it, and answers lead --probe.
func TestInAContainer(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	cmd := exec.Command(binary, "--agent", a.URL, "--on-loss", "exit", "--", "sh", "-c",
		"echo $(readlink /proc/self/ns/pid >&2; "+binary+" --probe);"+clocks)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := exec.Command("unshare", "--user", "--pid", "--fork", "true").Run(); err != nil {
		t.Skip("this machine lets nobody make a process namespace: ", err)
	}
	l := begin(t, cmd)
	sessions(t, a, 1)
	a.Grant(7, 2*time.Second)
	l.awaits("leads under epoch 0.7")
	a.Freeze()
	if last := l.lastClock(); last == 0 || last >= a.Told() {
		t.Errorf("it wrote last at %v; its permission was over at %v", last, a.Told())
	}
}

// Nobody leads elsewhere while a process of the command is still at its end.
func TestThePermissionIsGivenBackWhenTheLastProcessHasEnded(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	file := filepath.Join(t.TempDir(), "ended")
	l := command(t, a, `sh -c 'trap "sleep 0.5; echo >`+file+`; exit" TERM; echo began
		while :; do sleep 0.02; done' & wait`)
	sessions(t, a, 1)
	a.Grant(7, time.Minute)
	l.awaits("began")
	a.Revoke()
	sessions(t, a, 2)
	if _, err := os.Stat(file); err != nil {
		t.Error("the session was closed before the last process had ended: ", err)
	}
}

func TestACommandThatEndsByItself(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   int
	}{
		"its code is lead's":         {"exit 7", 7},
		"a signal has ended it":      {"kill -KILL $$", 128 + 9},
		"what it leaves behind ends": {"(setsid sleep 1000 &); sleep 1000 & exit 5", 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			l := command(t, a, c.script)
			sessions(t, a, 1)
			a.Grant(7, time.Minute)
			if code := l.code(); code != c.want {
				t.Errorf("exit code %d, want %d", code, c.want)
			}
		})
	}
}

func TestACommandIsStartedAgain(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	l := command(t, a, `trap 'echo ended; exit 0' TERM; echo began; sleep 0.01; exit 3`,
		"--on-exit", "restart")
	sessions(t, a, 1)
	a.Grant(7, time.Minute)
	l.awaits("began")
	l.awaits("began")
	sessions(t, a, 1) // it has led all the time
}

func TestTheStandbyCommandRunsWhileItDoesNotLead(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	standby := filepath.Join(t.TempDir(), "standby")
	err := os.WriteFile(standby, []byte("#!/bin/sh\ntrap 'echo stood by; exit' TERM\necho stands by\n"+
		"while :; do sleep 0.02; done\n"), 0o700)
	if err != nil {
		t.Fatal(err)
	}
	l := command(t, a, loop, "--standby", "'"+standby+"'")
	l.awaits("stands by")
	sessions(t, a, 1)
	a.Grant(7, time.Minute)
	l.awaits("stood by")
	l.awaits("began a a-0 7")
	a.Revoke()
	l.awaits("ended")
	l.awaits("stands by")
	l.signal(syscall.SIGTERM)
	l.awaits("stood by")
	if code := l.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAClassicGroup(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.Classic()
	l := command(t, a, loop)
	sessions(t, a, 1)
	a.Elect()
	l.awaits("began a a-0 ")
	a.Follow("a-1")
	a.Revoke()
	l.awaits("ended")
	a.Elect()
	l.awaits("began a a-0 ")
	l.signal(syscall.SIGTERM)
	l.awaits("ended")
	if code := l.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if n := strings.Count(l.said.String(), "Classic"); n != 1 {
		t.Errorf("it says %d times what a Classic group is worth", n)
	}
}

func TestSignalsArePassedOn(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	l := command(t, a, `trap 'echo usr1' USR1; echo began; while :; do sleep 0.02; done`)
	sessions(t, a, 1)
	a.Grant(7, time.Minute)
	l.awaits("began")
	l.signal(syscall.SIGUSR1)
	l.awaits("usr1")
}

// The session is open for as long as a process of the command runs, also if lead has died. The kernel
// closes the connections of lead before it ends the other processes of a container.
func TestTheSessionOutlivesLead(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	file := filepath.Join(t.TempDir(), "ended")
	l := command(t, a, `(setsid sh -c 'echo began; sleep 0.5; echo >`+file+`' &); exec sleep 1000`)
	sessions(t, a, 1)
	a.Grant(7, time.Minute)
	l.awaits("began")
	l.signal(syscall.SIGKILL)
	if err := a.Await(t.Context().Done(), func(open, _ int) bool { return open == 0 }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("the session has ended while a process of the command runs: ", err)
	}
}

// Outside a container the process that lead has started ends with it, whatever ends lead.
func TestTheCommandEndsWithLead(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	l := command(t, a, `trap '' TERM; echo began; exec sleep 1000`)
	sessions(t, a, 1)
	a.Grant(7, time.Minute)
	l.awaits("began")
	l.signal(syscall.SIGKILL)
	l.code() // or it would wait
}

// Nobody reads what lead says: its stderr is a full pipe, or the reader has ended. The command runs
// all the same, as long as this process leads, and lead ends.
func TestALogThatNobodyReads(t *testing.T) {
	for what, stderr := range map[string]*os.File{"full": unread(t, true), "ended": unread(t, false)} {
		t.Run(what, func(t *testing.T) {
			a := newAgent(t)
			cmd := exec.Command(binary, "--agent", a.URL, "--on-loss", "exit", "--", "sh", "-c",
				"exec 2>/dev/null; "+loop)
			cmd.Stderr = stderr
			l := begin(t, cmd)
			sessions(t, a, 1)
			a.Grant(7, time.Minute)
			l.awaits("began a a-0 7")
			a.Revoke()
			l.awaits("ended")
			if code := l.code(); code != exitLost {
				t.Errorf("it ends with %d", code)
			}
		})
	}
}

// unread is a pipe that takes nothing: it is full, or its reader has ended.
func unread(t *testing.T, full bool) *os.File {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = read.Close(); _ = write.Close() })
	if !full {
		_ = read.Close()
		return write
	}
	fd := int(write.Fd())
	for err = syscall.SetNonblock(fd, true); err == nil; {
		_, err = syscall.Write(fd, make([]byte, 1))
	}
	if !errors.Is(err, syscall.EAGAIN) {
		t.Fatal(err)
	}
	if err := syscall.SetNonblock(fd, false); err != nil { // as lead's is
		t.Fatal(err)
	}
	return write
}

func TestWhatIsWrongIsSaidAtTheStart(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		said string
	}{
		{nil, exitUsage, "there is no command"},
		{[]string{"--", "/no/such/command"}, exitUsage, "/no/such/command"},
		{[]string{"--no-flag", "--", "true"}, exitUsage, "no-flag"},
		{[]string{"--on-loss", "cry", "--", "true"}, exitUsage, "--on-loss"},
		{[]string{"--on-exit", "cry", "--", "true"}, exitUsage, "--on-exit"},
		{[]string{"--grace", "-1s", "--", "true"}, exitUsage, "--grace"},
		{[]string{"--agent", "nowhere", "--", "true"}, exitUsage, "nowhere"},
		{[]string{"--standby", "'true", "--", "true"}, exitUsage, "--standby"},
		{[]string{"--agent", "http://127.0.0.1:1", "--wait-for-agent", "1ms", "--", "true"}, exitNoAgent,
			"no agent has answered"},
	} {
		var said strings.Builder
		cmd := exec.CommandContext(context.Background(), binary, c.args...)
		cmd.Stderr = &said
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(said.String(), c.said) {
			t.Errorf("%q: exit code %d, %s; want %d, %s", c.args, code, &said, c.code, c.said)
		}
	}
}
