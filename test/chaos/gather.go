package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/test/chaos/timeline"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// maxLine bounds a line of what is followed, in bytes.
const maxLine = 1 << 20

func lines(text io.Reader, take func(line []byte) error) error {
	s := bufio.NewScanner(text)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		if err := take(s.Bytes()); err != nil {
			return err
		}
	}
	return s.Err()
}

// gather fetches what the groups of a phase have left in the nodes, and reads it.
func (r *runner) gather(ctx context.Context, groups []*group, end register.Instant) (h history.History, followed map[string][]timeline.Followed, err error) {
	dir := filepath.Join(r.state, groups[0].namespace)
	if err := errors.Join(r.nodes.keep(ctx), each(r.nodes.all(), func(node string) error { return fetch(ctx, node, filepath.Join(dir, node)) })); err != nil {
		return h, nil, err
	}
	h.End, h.Signals, followed = end, r.signals, map[string][]timeline.Followed{}
	names := map[string]bool{}
	for _, g := range groups {
		names[g.name] = true
	}
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error { //nolint:gosec // the user says where
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // nobody else writes there
		if err != nil {
			return err
		}
		if err := read(filepath.Base(path), text, names, &h, followed); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
	slices.SortStableFunc(h.Leases, func(a, b history.Lease) int { return cmp.Compare(a.At, b.At) })
	return h, followed, err
}

// read reads one file, if it is of one of the groups.
func read(name string, text []byte, groups map[string]bool, h *history.History, followed map[string][]timeline.Followed) error {
	if name == "register.jsonl" {
		entries, err := history.ReadEntries(bytes.NewReader(text))
		h.Entries = append(h.Entries, entries...)
		return err
	}
	if strings.HasSuffix(name, ".jsonl") {
		pod, _, _ := strings.Cut(name, "_")
		if !groups[groupOf(pod)] {
			return nil
		}
		lives, err := history.ReadTrace(bytes.NewReader(text))
		h.Lives = append(h.Lives, lives...)
		return err
	}
	// var+log+pods+NAMESPACE_POD_UID+podesta-agent+0.log+INODE
	parts := strings.Split(name, "+")
	if len(parts) < 7 || parts[4] != "podesta-agent" {
		return nil
	}
	of := strings.Split(parts[3], "_")
	group := groupOf(of[1])
	if !groups[group] {
		return nil
	}
	leases, err := history.ReadLeases(bytes.NewReader(text), group, of[1])
	h.Leases = append(h.Leases, leases...)
	return errors.Join(err, lines(bytes.NewReader(text), func(line []byte) error {
		f, ok, err := timeline.ReadFollowed(string(line), of[1], offset())
		if ok {
			followed[group] = append(followed[group], f)
		}
		return err
	}))
}

// groupOf is the group of a pod of a StatefulSet that has the group's name.
func groupOf(pod string) string { return pod[:max(0, strings.LastIndexByte(pod, '-'))] }

// offset is what the wall clock says when the boot clock says nothing.
var offset = sync.OnceValue(func() time.Time { return time.Now().Add(-time.Duration(register.Now())) })

// fetch copies what is kept in a node.
func fetch(ctx context.Context, node, to string) error {
	var archive bytes.Buffer
	if err := dockerTo(ctx, &archive, "exec", node, "tar", "--create", "--ignore-failed-read", "--warning=no-file-changed", "-C", nodeDir, "."); err != nil &&
		archive.Len() == 0 {
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
