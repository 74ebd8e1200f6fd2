package assets

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/podesta-dev/podesta/test/child"
)

// goCommand runs the go command and returns what it prints; told, if not nil, gets each line of
// what it says beside that. An error carries the end of what it said, without the names of packages
// and modules.
func goCommand(
	ctx context.Context, dir string, told func(line string), args ...string,
) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false",
		"GOGC=off", "GOMEMLIMIT=3GiB") // two fifths less time for compilers that need not collect garbage
	cmd.SysProcAttr = child.Attributes(syscall.SIGKILL)
	cmd.SysProcAttr.Setpgid = true
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout = &out
	says, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var said bytes.Buffer
	lines := bufio.NewScanner(says)
	for lines.Scan() {
		if told != nil {
			told(lines.Text())
		}
		if strings.ContainsRune(lines.Text(), ' ') &&
			!strings.HasPrefix(lines.Text(), "go: downloading ") {
			said.WriteString(lines.Text() + "\n")
		}
	}
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
		const most = 2000
		text := said.Bytes()
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, text[max(0, len(text)-most):])
	}
	return out.Bytes(), nil
}
