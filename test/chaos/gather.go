package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// gather reads what the groups of a phase have left.
func (r *runner) gather(
	ctx context.Context, namespace string, end register.Instant,
) (h history.History, err error) {
	left, err := r.backend.Gather(ctx, namespace)
	if err != nil {
		return h, err
	}
	h.End, h.Signals = end, r.signals
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
				leases, err := history.ReadLeases(text, group, pod)
				h.Leases = append(h.Leases, leases...)
				return err
			}))
		}
	}
	slices.SortStableFunc(h.Leases, func(a, b history.Lease) int { return cmp.Compare(a.At, b.At) })
	return h, err
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

// groupOf is the group of a pod of a set that has the group's name, or of a witness.
func groupOf(pod string) string {
	return strings.TrimSuffix(pod[:max(0, strings.LastIndexByte(pod, '-'))], witnessSuffix)
}
