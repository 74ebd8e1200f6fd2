// Command fencing shows what a fence is for, without a cluster: a coordinator is paused, another
// process takes over, and then the first one wakes up and writes. The resource, a small HTTP server
// with a gate on disk, refuses the write, also after a restart of the resource.
//
//	go run -C examples ./fencing
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

// run plays the scenario. The epochs are those that the agents' /v1/permission would have returned
// to the two processes.
func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "fencing")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)                     //nolint:errcheck // a temporary folder
	const a, b = 29353417113601, 29353417113602 // 27993600.1 and 27993600.2

	r, err := start(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "process A is the coordinator")
	workOfA := fence.WithEpoch(ctx, a) // the work keeps the epoch under which it began
	report(out, "A", r.write(workOfA, "by A"))

	fmt.Fprintln(out, "A is paused; its lease runs out; B is the coordinator")
	report(out, "B", r.write(fence.WithEpoch(ctx, b), "by B"))

	fmt.Fprintln(out, "A wakes up and continues its work")
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

// resource is a server that keeps one value in a file, behind a gate whose file lies beside it.
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
		url:  "http://" + listener.Addr().String(),
		gate: gate,
		server: &http.Server{
			Handler:     &fence.Handler{Gate: gate, Next: keep},
			ReadTimeout: 5 * time.Second,
		},
		client: &http.Client{
			Transport: fence.Transport{Base: &http.Transport{}},
			Timeout:   5 * time.Second,
		},
	}
	go r.server.Serve(listener) //nolint:errcheck // it ends by stop
	return r, nil
}

func (r *resource) stop() error {
	r.client.CloseIdleConnections()
	return errors.Join(r.server.Close(), r.gate.Close())
}

// write writes a value, as a client of the resource does; the epoch is in the context.
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
