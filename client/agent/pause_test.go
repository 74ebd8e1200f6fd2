package agent

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/internal/boottime"
	"github.com/podesta-dev/podesta/client/internal/fakeagent"
	"github.com/podesta-dev/podesta/client/internal/leak"
)

const agentEnv, panicEnv = "PODESTA_TEST_AGENT", "PODESTA_TEST_PANIC"

func TestMain(m *testing.M) {
	if url := os.Getenv(agentEnv); url != "" {
		if os.Getenv(panicEnv) != "" {
			panics(url)
		}
		acts(url)
		return
	}
	if os.Getenv(exitEnv) != "" {
		Exit(fmt.Errorf("one\ntwo"))
	}
	leak.VerifyTestMain(m)
}

// acts is what this test binary does when a test starts it as a program: it acts as often as it
// can, and says when it did so last.
func acts(url string) {
	c := Client{URL: url}
	err := c.Run(context.Background(), func(ctx context.Context, _ Epoch) error {
		var last time.Duration
		fmt.Println("acts")
		for {
			now, err := boottime.Now()
			if err != nil {
				return err
			}
			if ctx.Err() != nil {
				fmt.Println("last", int64(last))
				return fmt.Errorf("over")
			}
			last = now
		}
	})
	fmt.Println("ended:", err) // it does not
}

// A program is stopped (SIGSTOP) while it acts, and goes on when its permission is over: it does
// nothing more, although no timer has fired and nobody could revoke anything.
func TestAProgramThatWasPausedDoesNothingMore(t *testing.T) {
	agent := fakeagent.Start()
	defer agent.Close()
	agent.Grant(7, 400*time.Millisecond)
	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = append(os.Environ(), agentEnv+"="+agent.URL)
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { program.Process.Kill(); program.Wait() }()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "acts" {
		t.Fatalf("it says %q", lines.Text())
	}
	program.Process.Signal(syscall.SIGSTOP)
	agent.Freeze()
	told := agent.Told()
	pass(t, told+100*time.Millisecond)
	program.Process.Signal(syscall.SIGCONT)
	var last int64
	late := time.AfterFunc(20*time.Second, func() { program.Process.Kill() })
	defer late.Stop()
	if !lines.Scan() {
		t.Fatal("it does not notice")
	}
	if _, err := fmt.Sscanf(lines.Text(), "last %d", &last); err != nil {
		t.Fatalf("it says %q", lines.Text())
	}
	if over := time.Duration(last) - told; over >= 0 {
		t.Errorf("it acted %v after its permission", over)
	}
}
