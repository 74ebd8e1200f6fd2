package stage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/podesta-dev/podesta/test/child"
	"github.com/podesta-dev/podesta/test/port"
)

// Cluster is a local cluster that runs as a child of this program: `cluster up` of hack/cluster,
// with the manager, what `make build` built, and no more rights for the manager than an
// installation gives it.
type Cluster struct {
	Kubeconfig string
	PID        int // of `cluster up`: the processes of pods and of the control plane are its children

	command *exec.Cmd
	root    string
	state   string
	roster  *port.Kept // where the manager serves agents
	manager []string   // the arguments of the manager
}

// Up starts a cluster and returns when it answers. Root is the source tree with bin/, state the
// cluster's directory; the flags are for `cluster up`, after those that every run needs. What it
// says goes to log.
func Up(ctx context.Context, root, state string, log io.Writer, flags ...string) (*Cluster, error) {
	roster, err := port.Keep()
	if err != nil {
		return nil, err
	}
	c := &Cluster{root: root, state: state, roster: roster}
	if err := c.start(ctx, log, flags); err != nil {
		return nil, errors.Join(err, roster.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, log io.Writer, flags []string) error {
	c.manager = []string{"--roster-address=" + c.roster.Address, "--health-address=0"}
	args := []string{"up", "--root", c.root, "--dir", c.state, "--roster", c.roster.Address,
		"--manager-arg=--leader-elect=false"}
	//nolint:gosec,noctx // what is run is this source tree's own; Close ends it, in order
	command := exec.Command(filepath.Join(c.root, "bin/cluster"), slices.Concat(args, flags)...)
	command.Stderr = log
	command.SysProcAttr = child.Attributes(syscall.SIGTERM)
	command.SysProcAttr.Setpgid = true // Ctrl-C is ours alone
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("%w: run `make build` first", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = command.Process.Signal(syscall.SIGTERM) })
	line, err := bufio.NewReader(out).ReadString('\n')
	stop()
	if strings.HasPrefix(line, "ready after") && ctx.Err() == nil {
		c.Kubeconfig = filepath.Join(c.state, "kubeconfig")
		c.PID, c.command = command.Process.Pid, command
		for _, arg := range command.Args {
			if arg, ok := strings.CutPrefix(arg, "--manager-arg="); ok {
				c.manager = append(c.manager, arg)
			}
		}
		return nil
	}
	_ = command.Process.Signal(syscall.SIGTERM)
	return errors.Join(fmt.Errorf("the cluster did not start; it said %q", line), err,
		command.Wait(), context.Cause(ctx))
}

// AnotherManager returns a manager like the cluster's own, to be started beside it. Both have the
// same address for agents, in place of a Service: the one that leads listens there.
func (c *Cluster) AnotherManager() *exec.Cmd {
	//nolint:gosec,noctx // this source tree's own; the caller ends it
	manager := exec.Command(filepath.Join(c.root, "bin/manager"), c.manager...)
	manager.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(c.state, "manager.kubeconfig"))
	manager.SysProcAttr = child.Attributes(syscall.SIGKILL)
	return manager
}

// Close ends the cluster and all that runs on it.
func (c *Cluster) Close() error {
	_ = c.command.Process.Signal(syscall.SIGTERM)
	err := c.command.Wait()
	if err != nil {
		err = fmt.Errorf("the cluster ended badly: %w", err)
	}
	return errors.Join(err, c.roster.Close())
}
