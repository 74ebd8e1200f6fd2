package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podesta-dev/podesta/hack/cluster/process"
)

// manager is a process of bin/manager. All serve agents at the same address, which stands for the
// Service podesta-roster: only the leader listens.
type manager struct {
	name    string
	process *process.Process
	metrics string // HOST:PORT
}

func (s *site) startManagers(ctx context.Context) error {
	//nolint:gosec // the user names the program
	said, err := exec.CommandContext(ctx, s.manager, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w: run `make bin/manager` first", s.manager, err)
	}
	words := strings.Fields(string(said))
	if len(words) == 0 {
		return fmt.Errorf("%s --version says nothing", s.manager)
	}
	s.version = words[len(words)-1]
	n := 1
	if s.standby {
		n = 2
	}
	for i := range n {
		m, err := s.startManager(ctx, i)
		if err != nil {
			return err
		}
		s.managers = append(s.managers, m)
		if i == 0 {
			if err := s.awaitLeader(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// startManager starts a manager in a pod's place.
func (s *site) startManager(ctx context.Context, i int) (*manager, error) {
	m := &manager{name: fmt.Sprintf("podesta-manager-%d", i)}
	if err := s.makeManagerPod(ctx, m.name); err != nil {
		return nil, err
	}
	var err error
	if m.metrics, err = s.keepPort(); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(s.manager)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(s.out, m.name+".log"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the manager has its own descriptor
	m.process, err = process.Start(process.Spec{
		Path: path,
		Args: []string{"manager", "--namespace=" + system, "--roster-address=" + s.address,
			"--metrics-address=" + m.metrics, "--metrics-secure=false", "--health-address=0",
			"--leader-elect", "--log-level=info"},
		Env: append(os.Environ(), "KUBECONFIG="+filepath.Join(s.out, kubeconfig),
			"POD_NAME="+m.name, "POD_NAMESPACE="+system, "MEMORY_LIMIT="+s.memoryLimit),
		Output: log,
	})
	return m, err
}

// makeManagerPod makes the pod that the leading manager puts its label on.
func (s *site) makeManagerPod(ctx context.Context, name string) error {
	_, err := s.core.CoreV1().Pods(system).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name:  "manager",
				Image: "manager",
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
			AutomountServiceAccountToken: new(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   new(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// leadsWithin is how long managers may take to agree on a leader: a Lease of 15 s that nobody
// released, and to fill their caches on a busy machine.
const leadsWithin = 2 * time.Minute

// awaitLeader waits until a manager serves agents. Nothing tells of that but the port.
func (s *site) awaitLeader(ctx context.Context) error {
	done := during("awaiting a manager that leads", func() string { return "nobody listens" })
	defer done()
	ctx, cancel := context.WithTimeout(ctx, leadsWithin)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.address)
		if err == nil {
			conn.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no manager serves agents at %s: %w", s.address, err)
		case <-ticker.C:
		}
	}
}

// leading is the manager that leads.
func (s *site) leading(ctx context.Context) (*manager, error) {
	failed := errors.New("no manager leads")
	for _, m := range s.managers {
		values, err := m.values(ctx) // one that has just been started may not serve them yet
		if values["leader_election_master_status"] == 1 {
			return m, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}
