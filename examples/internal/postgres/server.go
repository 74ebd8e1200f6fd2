// Package postgres runs a PostgreSQL server of its own, in a folder that is removed with it. It
// needs the server's programs, as in Debian's package postgresql. PostgreSQL refuses to run as
// root: if this program does, the server runs as the user postgres.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMissing means that there is no PostgreSQL server on this machine.
var ErrMissing = errors.New("there is no PostgreSQL server here: " +
	"install it (Debian's package postgresql)")

// Server is a running server.
type Server struct {
	dir   string
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
	err   error         // how
}

// Start starts a server, and returns when it takes connections. It listens on a socket in its
// folder only.
func Start(ctx context.Context) (*Server, error) {
	programs, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "podesta-postgres")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if err := s.start(ctx, programs); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// programs returns the folder of the server's programs: that on the PATH, or the newest of
// Debian's.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.Join(ErrMissing, err)
	}
	return filepath.Dir(found[len(found)-1]), nil
}

func (s *Server) start(ctx context.Context, programs string) error {
	attributes, err := s.own()
	if err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	//nolint:gosec // Debian's program
	initdb := exec.CommandContext(ctx, filepath.Join(programs, "initdb"), "--pgdata", data,
		"--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = s.dir, attributes
	if said, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", initdb, err, said)
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	//nolint:errcheck // the server has it open itself
	defer log.Close()
	//nolint:gosec,noctx // Stop ends it
	s.cmd = exec.Command(filepath.Join(programs, "postgres"), "-D", data, "-k", s.dir, "-c",
		"listen_addresses=")
	s.cmd.Dir, s.cmd.SysProcAttr = s.dir, attributes
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	return s.await(ctx)
}

// own gives the folder to whom the server runs as, and returns how to start a program as that user.
func (s *Server) own() (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} // ends it at once
	if os.Getuid() != 0 {
		return attributes, nil
	}
	owner, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err := strconv.ParseUint(owner.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(owner.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attributes, os.Chown(s.dir, int(uid), int(gid))
}

// await waits until the server takes connections.
func (s *Server) await(ctx context.Context) error {
	for {
		conn, err := pgx.Connect(ctx, s.URL())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-s.ended:
			log, _ := os.ReadFile(filepath.Join(s.dir, "log")) // shown only
			return fmt.Errorf("the PostgreSQL server has ended: %w: %s", s.err, log)
		}
	}
}

// URL returns how to connect to the server.
func (s *Server) URL() string { return URL(s.dir) }

// URL returns how to connect to the server whose socket is in this folder.
func URL(dir string) string { return "postgres://postgres@/postgres?host=" + dir }

// Stop ends the server, and removes its folder.
func (s *Server) Stop() error {
	if s.ended != nil {
		// closes all connections; an error says that it has ended
		_ = s.cmd.Process.Signal(syscall.SIGINT)
		<-s.ended
	}
	return os.RemoveAll(s.dir)
}
