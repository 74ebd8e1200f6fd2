package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/signals"
	"github.com/podesta-dev/podesta/test/register"
)

// In the nodes.
const (
	nodeProgram = "/usr/local/bin/podesta-chaos"
	nodeDirs    = "/var/lib/podesta-chaos"
)

// nodeDir is this run's directory in the nodes: traces, the register's log, and logs that are kept.
var nodeDir = fmt.Sprintf("%s/%d", nodeDirs, register.Now())

// nodes are the nodes of the kind cluster.
type nodes struct {
	control string
	workers []string
}

func (n nodes) all() []string { return append([]string{n.control}, n.workers...) }

// findNodes finds them by the labels that kind gives its containers.
func findNodes(ctx context.Context, cluster string) (n nodes, err error) {
	said, err := docker(ctx, "ps", "--all", "--filter", "label=io.x-k8s.kind.cluster="+cluster,
		"--format", `{{.Names}} {{.Label "io.x-k8s.kind.role"}}`)
	if err != nil {
		return n, err
	}
	for line := range strings.Lines(said) {
		switch name, role, _ := strings.Cut(strings.TrimSpace(line), " "); role {
		case "control-plane":
			n.control = name
		case "worker":
			n.workers = append(n.workers, name)
		}
	}
	slices.Sort(n.workers)
	if n.control == "" || len(n.workers) < 3 {
		return n, fmt.Errorf("cluster %s has %d workers and the control plane %q: it needs 3 and one",
			cluster, len(n.workers), n.control)
	}
	return n, nil
}

// prepare puts the program into the nodes, makes the directories, and has kubelets restart
// containers soon however often they were killed: here no app fails by itself.
func (n nodes) prepare(ctx context.Context, program string) error {
	return backend.Each(n.all(), func(node string) error {
		if _, err := docker(ctx, "cp", program, node+":"+nodeProgram); err != nil {
			return err
		}
		const script = `set -e
rm -rf ALL
mkdir -p DIR/traces DIR/register
chmod 1777 DIR/traces DIR/register
grep -q 'maxContainerRestartPeriod: 1s' /var/lib/kubelet/config.yaml && exit
sed -i /^crashLoopBackOff:/d /var/lib/kubelet/config.yaml
printf 'crashLoopBackOff: {maxContainerRestartPeriod: 1s}\n' >>/var/lib/kubelet/config.yaml
systemctl restart kubelet`
		return inShell(ctx, node, strings.NewReplacer("DIR", nodeDir, "ALL", nodeDirs).Replace(script))
	})
}

// checkClocks fails if a node does not share this machine's boot clock: no instants could be
// compared then.
func (n nodes) checkClocks(ctx context.Context) error {
	return backend.Each(n.all(), func(node string) error {
		before := register.Now()
		s, err := inNode(ctx, node, 0, "clock")
		if err != nil {
			return err
		}
		if after := register.Now(); s.At < before || s.At > after {
			return fmt.Errorf("the clock of %s says %v, this machine's %v: Docker must run on this very "+
				"machine, on Linux",
				node, s.At, before)
		}
		return nil
	})
}

// keep makes the agents' logs outlive their pods.
func (n nodes) keep(ctx context.Context) error {
	return backend.Each(n.workers, func(node string) error {
		_, err := docker(ctx, "exec", node, nodeProgram, "keep", "/var/log/pods", nodeDir+"/logs")
		return err
	})
}

// sweep removes what the pods of a phase have left in the nodes.
func (n nodes) sweep(ctx context.Context) error {
	return backend.Each(n.workers, func(node string) error {
		return inShell(ctx, node, "rm -rf "+nodeDir+"/traces/* "+nodeDir+"/logs")
	})
}

// inNode has a node's program do something that takes as long as this; it returns when that is
// done. The error may be backend.ErrMissed.
func inNode(
	ctx context.Context, node string, length time.Duration, args ...string,
) (done signals.Done, err error) {
	args = append([]string{"exec", "--privileged", node, nodeProgram}, args...)
	if length > 0 {
		args = append(args, "--for="+length.String())
	}
	said, err := dockerFor(ctx, length, args...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == signals.Missed:
		err = backend.ErrMissed
	case err == nil:
		err = json.Unmarshal([]byte(said), &done)
		return done, err
	}
	done.At = register.Now()
	return done, err
}

func inShell(ctx context.Context, node, script string) error {
	_, err := docker(ctx, "exec", node, "sh", "-c", script)
	return err
}

// cut takes directions away for a while: a table of rules a cut, so that cuts do not mend each
// other. It returns the instant from which on all nodes dropped, and how many packets they did.
func cut(
	ctx context.Context, table string, drops []backend.Drop, length time.Duration,
) (last register.Instant, dropped int, err error) {
	rules := map[string][]string{} // by node
	for _, d := range drops {
		rules[d.At] = append(rules[d.At], fmt.Sprintf(
			"add rule inet %s pre ip saddr %s ip daddr %s counter drop", table, d.From.Status.PodIP,
			d.To.Status.PodIP))
	}
	all := make(chan signals.Done, len(rules))
	err = backend.Each(slices.Collect(maps.Keys(rules)), func(node string) error {
		s, err := inNode(ctx, node, length, "cut", "--table="+table, strings.Join(rules[node], "; "))
		all <- s
		return err
	})
	for range rules {
		done := <-all
		last, dropped = max(last, done.At), dropped+done.Dropped
	}
	return last, dropped, err
}
