// Command fencing shows what a fence is for, without a cluster: a coordinator is paused, another takes over, and the first one
// wakes up and writes. The resource, a small HTTP server with a gate on disk, refuses it, also after a restart.
//
//	go run ./examples/fencing
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/client/fence"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run tells the story. The epochs are what the agent's /v1/leader would have told the two processes.
func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "fencing")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	const a, b = 29353417113601, 29353417113602

	r, err := start(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "process A is the coordinator")
	workOfA := fence.WithEpoch(ctx, a) // bound when the work begins: it stays A's old epoch, whatever happens
	report(out, "A", r.write(workOfA, "by A"))

	fmt.Fprintln(out, "A is paused; its lease runs out; B is the coordinator")
	report(out, "B", r.write(fence.WithEpoch(ctx, b), "by B"))

	fmt.Fprintln(out, "A wakes up and goes on where it was")
	report(out, "A", r.write(workOfA, "by A, late"))

	if err := r.stop(); err != nil {
		return err
	}
	if r, err = start(ctx, dir); err != nil {
		return err
	}
	fmt.Fprintln(out, "the resource has restarted; A tries once more")
	report(out, "A", r.write(workOfA, "by A, later still"))
	if err := r.stop(); err != nil {
		return err
	}
	value, err := os.ReadFile(filepath.Join(dir, "value"))
	fmt.Fprintf(out, "the value is %q\n", value)
	return err
}

func report(out io.Writer, who string, err error) {
	switch {
	case err == nil:
		fmt.Fprintf(out, "  %s writes: done\n", who)
	case errors.Is(err, fence.ErrStale):
		fmt.Fprintf(out, "  %s writes: refused, %v\n", who, err)
	default:
		fmt.Fprintf(out, "  %s writes: failed, %v\n", who, err)
	}
}

// resource is a server that keeps one value in a file, behind a gate that lies beside it.
type resource struct {
	url    string
	gate   *fence.Gate
	server *http.Server
	client *http.Client
}

func start(ctx context.Context, dir string) (*resource, error) {
	gate, err := fence.Open(filepath.Join(dir, "epoch"))
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, gate.Close())
	}
	keep := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		value, err := io.ReadAll(req.Body)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "value"), value, 0o600)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	r := &resource{
		url: "http://" + listener.Addr().String(), gate: gate,
		server: &http.Server{Handler: &fence.Handler{Gate: gate, Next: keep}, ReadTimeout: 5 * time.Second},
		client: &http.Client{Transport: fence.Transport{Base: &http.Transport{}}, Timeout: 5 * time.Second},
	}
	go r.server.Serve(listener) //nolint:errcheck // it ends by stop
	return r, nil
}

func (r *resource) stop() error {
	r.client.CloseIdleConnections()
	return errors.Join(r.server.Close(), r.gate.Close())
}

// write is what a client of the resource does; the epoch is in the context.
func (r *resource) write(ctx context.Context, value string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, r.url, strings.NewReader(value))
	if err != nil {
		return err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := fence.CheckResponse(resp); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the resource answered %s", resp.Status)
	}
	return nil
}
