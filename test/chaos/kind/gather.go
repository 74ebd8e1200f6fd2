package kind

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/test/chaos/backend"
)

// Gather fetches what the pods have left in the nodes.
func (b *Backend) Gather(ctx context.Context, namespace string) (l backend.Leavings, err error) {
	dir := filepath.Join(b.Dir, namespace)
	err = errors.Join(b.nodes.keep(ctx), backend.Each(b.nodes.all(), func(node string) error {
		return fetch(ctx, node, filepath.Join(dir, node))
	}))
	if err != nil {
		return l, err
	}
	l.AgentLogs = map[string][]string{}
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			add(&l, path)
		}
		return err
	})
	return l, err
}

// add takes a file for what its name says that it is.
func add(l *backend.Leavings, path string) {
	name := filepath.Base(path)
	switch {
	case name == "register.jsonl":
		l.Register = path
	case strings.HasSuffix(name, ".jsonl"):
		l.Traces = append(l.Traces, path)
	default: // var+log+pods+NAMESPACE_POD_UID+podesta-agent+0.log+INODE
		if parts := strings.Split(name, "+"); len(parts) >= 7 && parts[4] == "podesta-agent" {
			pod := strings.Split(parts[3], "_")[1]
			l.AgentLogs[pod] = append(l.AgentLogs[pod], path)
			slices.Sort(l.AgentLogs[pod])
		}
	}
}

// filesChanged is how tar ends if files have changed while it read them. Then the archive is whole.
const filesChanged = 1

// fetch copies what is kept in a node, from files that are still being written.
func fetch(ctx context.Context, node, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	//nolint:gosec // the user says where
	extract := exec.CommandContext(ctx, "tar", "--extract", "--no-same-owner", "-C", to)
	archive, err := extract.StdinPipe()
	if err != nil {
		return err
	}
	if err := extract.Start(); err != nil {
		return err
	}
	packed := dockerTo(ctx, archive, 0, "exec", node, "tar", "--create", "--ignore-failed-read",
		"--warning=no-file-changed", "-C", nodeDir, ".")
	_ = archive.Close()
	if err := extract.Wait(); err != nil {
		return errors.Join(packed, err)
	}
	if exit := (*exec.ExitError)(nil); errors.As(packed, &exit) && exit.ExitCode() == filesChanged {
		return nil
	}
	return packed
}
