package languages

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Where the program's clock is not the agent's but behind it, as /proc/uptime is in some sandboxes,
// a deadline would seem to be far away. A program notices it with the first permission, and does
// not act.
func TestAnotherClock(t *testing.T) {
	for _, p := range programs {
		t.Run(p.language, func(t *testing.T) {
			p.skipUnlessThere(t)
			t.Parallel()
			resource := newResource(t)
			agent := httptest.NewServer(ahead(t, time.Hour))
			t.Cleanup(agent.Close)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			c := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) } // and what it has started
			c.Env = append(os.Environ(), "HOSTNAME=p1", "RESOURCE="+resource.url,
				"ELECTOR_PATH="+strings.TrimPrefix(agent.URL, "http://"))
			out, _ := c.CombinedOutput() // its status is its language's
			if !strings.Contains(string(out), "the agent has another clock") {
				t.Errorf("it ended with\n%s", out)
			}
			if story := resource.story(); len(story) > 0 {
				t.Errorf("it acted: %v", story)
			}
		})
	}
}

// ahead is an agent whose clock is ahead of this machine's.
func ahead(t *testing.T, by time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		permits(t, w, uptime(t)+by+800*time.Millisecond, 800*time.Millisecond)
		<-r.Context().Done()
	}
}

// uptime is this machine's clock.
func uptime(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		t.Error(err)
	}
	return time.Duration(now.Nano())
}

// permits sends a session its permission.
func permits(t *testing.T, w http.ResponseWriter, until, remaining time.Duration) {
	t.Helper()
	fmt.Fprintf(w, "event: permission\ndata: {\"name\":\"p1\",\"epoch\":1048577,\"self\":\"p1\",\"mayAct\":true,"+
		"\"deadlineBoottimeNanoseconds\":%d,\"remainingMilliseconds\":%d}\n\n", until, remaining.Milliseconds())
	_ = http.NewResponseController(w).Flush()
}

func permitsNothing(w http.ResponseWriter) {
	fmt.Fprint(w, "event: permission\ndata: {\"name\":\"\",\"self\":\"p1\",\"mayAct\":false}\n\n")
	_ = http.NewResponseController(w).Flush()
}
