package kind

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
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
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error { //nolint:gosec // the user says where
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

// fetch copies what is kept in a node.
func fetch(ctx context.Context, node, to string) error {
	var archive bytes.Buffer
	err := dockerTo(ctx, &archive, "exec", node, "tar", "--create", "--ignore-failed-read",
		"--warning=no-file-changed", "-C", nodeDir, ".")
	if err != nil && archive.Len() == 0 {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil { //nolint:gosec // the user says where
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // its files are closed
	files := tar.NewReader(&archive)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		name := filepath.FromSlash(strings.TrimPrefix(header.Name, "./"))
		text, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		if err := errors.Join(root.MkdirAll(filepath.Dir(name), 0o700), root.WriteFile(name, text, 0o600)); err != nil {
			return err
		}
	}
}
