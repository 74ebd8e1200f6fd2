package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/test/chaos/timeline"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// gather reads what the groups of a phase have left. Followed is by group.
func (r *runner) gather(ctx context.Context, namespace string, end register.Instant) (
	h history.History, followed map[string][]timeline.Followed, err error,
) {
	left, err := r.backend.Gather(ctx, namespace)
	if err != nil {
		return h, nil, err
	}
	h.End, h.Signals, followed = end, r.signals, map[string][]timeline.Followed{}
	err = readFile(left.Register, func(text io.Reader) (err error) {
		h.Entries, err = history.ReadEntries(text)
		return err
	})
	for _, file := range left.Traces {
		err = errors.Join(err, readFile(file, func(text io.Reader) error {
			lives, err := history.ReadTrace(text)
			h.Lives = append(h.Lives, lives...)
			return err
		}))
	}
	for pod, files := range left.AgentLogs {
		group := groupOf(pod)
		for _, file := range files {
			err = errors.Join(err, readFile(file, func(text io.Reader) error {
				leases, of, err := readLog(text, group, pod)
				h.Leases = append(h.Leases, leases...)
				followed[group] = append(followed[group], of...)
				return err
			}))
		}
	}
	slices.SortStableFunc(h.Leases, func(a, b history.Lease) int { return cmp.Compare(a.At, b.At) })
	return h, followed, err
}

func readFile(name string, read func(io.Reader) error) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := read(bytes.NewReader(text)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// readLog reads an agent's log: its leases, and whom it followed.
func readLog(
	log io.Reader, group, pod string,
) (leases []history.Lease, followed []timeline.Followed, err error) {
	var text bytes.Buffer
	if leases, err = history.ReadLeases(io.TeeReader(log, &text), group, pod); err != nil {
		return nil, nil, err
	}
	lines := bufio.NewScanner(&text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f, ok, err := timeline.ReadFollowed(lines.Text(), pod, offset())
		if err != nil {
			return nil, nil, err
		}
		if ok {
			followed = append(followed, f)
		}
	}
	return leases, followed, lines.Err()
}

// groupOf is the group of a pod of a set that has the group's name, or of a witness.
func groupOf(pod string) string {
	return strings.TrimSuffix(pod[:max(0, strings.LastIndexByte(pod, '-'))], witnessSuffix)
}

// offset is what the wall clock said when the boot clock began.
var offset = sync.OnceValue(func() time.Time {
	return time.Now().Add(-time.Duration(register.Now()))
})
