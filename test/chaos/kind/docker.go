package kind

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/register"
)

// patience bounds a command to a node, beside the time that it is to take: what takes longer does
// not work.
const patience = 30 * time.Second

// docker runs docker and returns what it prints.
func docker(ctx context.Context, args ...string) (string, error) {
	return dockerFor(ctx, 0, args...)
}

// dockerFor does so with a command that takes as long as this.
func dockerFor(ctx context.Context, length time.Duration, args ...string) (string, error) {
	var said bytes.Buffer
	err := dockerTo(ctx, &said, length, args...)
	return strings.TrimSpace(said.String()), err
}

func dockerTo(ctx context.Context, out io.Writer, length time.Duration, args ...string) error {
	ctx, cancel := backend.Within(ctx, length+patience, "no answer")
	defer cancel()
	slog.Info("docker", "args", args)
	var complaint bytes.Buffer
	//nolint:gosec // the arguments are this program's own
	command := exec.CommandContext(ctx, "docker", args...)
	command.Stdout, command.Stderr = out, &complaint
	if err := command.Run(); err != nil {
		return fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "),
			errors.Join(err, context.Cause(ctx)), strings.TrimSpace(complaint.String()))
	}
	return nil
}

// follow calls take for each entry in a register's log in a node, from its beginning, as it is
// written. It ends with ctx.
func follow(ctx context.Context, node, file string, take func(register.Entry)) error {
	// A process in a node outlives the docker exec that began it, unless it sees that its input ends.
	const script = `tail --lines=+1 --follow=name --retry "$0" & cat >/dev/null; kill $!`
	//nolint:gosec // likewise
	command := exec.CommandContext(ctx, "docker", "exec", "--interactive", node, "sh", "-c", script,
		file)
	input, err := command.StdinPipe()
	if err != nil {
		return err
	}
	command.Cancel, command.WaitDelay = input.Close, patience
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for err == nil && lines.Scan() {
		var e register.Entry
		if err = json.Unmarshal(lines.Bytes(), &e); err == nil {
			take(e)
		}
	}
	err = errors.Join(err, lines.Err(), input.Close())
	if ended := command.Wait(); ctx.Err() == nil {
		return fmt.Errorf("following %s on %s has ended: %w", file, node, errors.Join(err, ended))
	}
	return nil
}
