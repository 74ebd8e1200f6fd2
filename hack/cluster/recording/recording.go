// Package recording records `kubectl election status -w` on a local cluster while the coordinator
// is killed, and draws the terminal as an animated SVG: the picture of the README.
package recording

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/hack/cluster/local"
	"github.com/podesta-dev/podesta/test/stage"
)

const (
	patience = 90 * time.Second
	// before and after are how long the terminal is shown before the kill, and after what came of it.
	before, after = 2 * time.Second, 3 * time.Second

	columns, lines = 101, 28
)

// Options say where things are.
type Options struct {
	Repository string         // the root of the source tree, for config/samples and bin
	Cluster    *local.Cluster // with a manager
	Report     func(string)   // what happens
}

// Record plays a failover and returns what the terminal showed.
func Record(ctx context.Context, o Options) (Film, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := stage.Connect(o.Cluster.Kubeconfig, "default", "scheduler")
	if err != nil {
		return Film{}, err
	}
	defer s.Close()
	for _, file := range []string{"podesta_v1_electiongroup.yaml", "pods.yaml"} {
		if err := s.ApplyFile(ctx, filepath.Join(o.Repository, "config/samples", file)); err != nil {
			return Film{}, err
		}
	}
	g, err := s.Await(ctx, "all five processes", settled)
	if err != nil {
		return Film{}, err
	}
	killed := g.Status.Coordinator.Name

	camera, err := film(ctx, filepath.Join(o.Repository, "bin/kubectl-election"), "status",
		"scheduler", "-w", "--kubeconfig", o.Cluster.Kubeconfig)
	if err != nil {
		return Film{}, err
	}
	err = play(ctx, o, s, killed)
	f, failed := camera.stop()
	return f, errors.Join(err, failed)
}

// settled: all processes are there, and the highest has coordinated for longer than it takes to be
// preempted.
func settled(g *v1.ElectionGroup) bool {
	c := g.Status.Coordinator
	return g.Status.Ready == "5/5" && c != nil &&
		c.Name == g.Status.Processes[len(g.Status.Processes)-1].Name
}

// play kills the coordinator, and waits until it has been replaced, has come back, and has taken
// over again.
func play(ctx context.Context, o Options, s *stage.Stage, killed string) error {
	if err := pause(ctx, before); err != nil {
		return err
	}
	o.Report("SIGKILL to all processes of " + killed)
	if _, err := s.Signal(ctx, killed, syscall.SIGKILL); err != nil {
		return err
	}
	g, err := s.Await(ctx, "another coordinator", func(g *v1.ElectionGroup) bool {
		return g.Status.Coordinator != nil && g.Status.Coordinator.Name != killed
	})
	if err != nil {
		return err
	}
	o.Report(g.Status.Coordinator.Name + " coordinates")
	if _, err := s.Await(ctx, killed+" as the coordinator again", func(g *v1.ElectionGroup) bool {
		return stage.Coordinates(g, killed) && g.Status.Ready == "5/5"
	}); err != nil {
		return err
	}
	o.Report(killed + " is back, and coordinates")
	return pause(ctx, after)
}

// pause lets the audience look.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// camera films a program on a terminal of its own.
type camera struct {
	command *exec.Cmd
	begun   time.Time
	filmed  chan Film
}

// film starts a program and films it until stop, or until it ends.
func film(ctx context.Context, program string, arguments ...string) (*camera, error) {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Env = append(command.Environ(), "TERM=xterm-256color", "NO_COLOR=")
	terminal, err := pty.StartWithSize(command, &pty.Winsize{Cols: columns, Rows: lines})
	if err != nil {
		return nil, err
	}
	c := &camera{
		command: command,
		begun:   time.Now(),
		filmed:  make(chan Film, 1),
	}
	go func() {
		c.filmed <- c.watch(terminal)
		_ = terminal.Close() // nothing is lost with it
	}()
	return c, nil
}

// watch takes a picture whenever the program has written something.
func (c *camera) watch(terminal io.Reader) Film {
	screen := vt10x.New(vt10x.WithSize(columns, lines))
	f := Film{Command: "kubectl election " + strings.Join(c.command.Args[1:4], " ")}
	buffer := make([]byte, 1<<16)
	for {
		n, err := terminal.Read(buffer)
		if n > 0 {
			_, _ = screen.Write(buffer[:n]) // it never fails
			f.add(time.Since(c.begun), pictureOf(screen))
		}
		if err != nil { // the program has ended: Linux says EIO
			f.Length = time.Since(c.begun)
			return f
		}
	}
}

// stop ends the program as Ctrl-C does, and returns the film.
func (c *camera) stop() (Film, error) {
	err := c.command.Process.Signal(syscall.SIGINT)
	f := <-c.filmed
	return f, errors.Join(err, c.command.Wait())
}
