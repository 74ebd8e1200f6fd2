// Package prometheus runs a real Prometheus for tests, and asks it. The program is the one on the
// PATH; it needs no root and no network but the loopback interface.
package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/test/child"
	"github.com/podesta-dev/podesta/test/port"
)

// ErrMissing says how to get the program.
var ErrMissing = errors.New("prometheus is not on the PATH: install it (Debian's package " +
	"prometheus, or https://prometheus.io/download)")

// Server is a running Prometheus.
type Server struct {
	Client

	url     string
	command *exec.Cmd
	ended   chan struct{} // closed when it has ended, with err
	err     error
}

// Start starts Prometheus with a configuration and the files that it names, in a folder of its own,
// and returns when it is ready. What it says goes to prometheus.log there.
func Start(
	ctx context.Context, folder string, config []byte, files map[string][]byte,
) (*Server, error) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		return nil, ErrMissing
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "prometheus.yaml"), config, 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(folder, "prometheus.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own
	address, err := port.Keep()
	if err != nil {
		return nil, err
	}
	s := &Server{url: "http://" + address.Address, ended: make(chan struct{})}
	if s.Client, err = newClient(s.url); err != nil {
		return nil, errors.Join(err, address.Close())
	}
	//nolint:gosec,noctx // the program is the user's own; Close ends it
	command := exec.Command(program, "--config.file", filepath.Join(folder, "prometheus.yaml"),
		"--storage.tsdb.path", filepath.Join(folder, "data"), "--web.listen-address", address.Address)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = child.Attributes(syscall.SIGTERM)
	command.SysProcAttr.Setpgid = true
	if err := command.Start(); err != nil {
		return nil, errors.Join(err, address.Close())
	}
	s.command = command
	go func() {
		s.err = errors.Join(command.Wait(), address.Close())
		close(s.ended)
	}()
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w; see %s", err, log.Name()), s.Close())
	}
	return s, nil
}

// web asks for what answers within moments, on the loopback interface.
var web = &http.Client{Timeout: 30 * time.Second}

// ready returns when Prometheus answers.
func (s *Server) ready(ctx context.Context) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/-/ready", nil)
		if err != nil {
			return err
		}
		if response, err := web.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-again.C:
		case <-s.ended:
			return errors.New("prometheus ended")
		case <-ctx.Done():
			return fmt.Errorf("prometheus did not become ready: %w", context.Cause(ctx))
		}
	}
}

// Close ends Prometheus.
func (s *Server) Close() error {
	_ = s.command.Process.Signal(syscall.SIGTERM)
	<-s.ended
	return s.err
}
