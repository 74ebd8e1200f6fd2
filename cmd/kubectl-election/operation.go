package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
)

// operation is a command that asks the manager to do something with a group: it shows a plan, asks
// for confirmation, makes a request, and waits for the manager.
type operation struct {
	surroundings
	kube       apiClient
	key        types.NamespacedName
	out, notes io.Writer
	confirm    func(group string) error
	system     string // the manager's namespace
}

// operate begins an operation on the group that a command names.
func (s surroundings) operate(c *cobra.Command, at *cluster, group string,
	confirm func(group string) error) (operation, error) {
	kube, namespace, err := s.connect(at)
	return operation{
		surroundings: s,
		kube:         kube,
		key:          types.NamespacedName{Namespace: namespace, Name: groupName(group)},
		out:          c.OutOrStdout(),
		notes:        c.ErrOrStderr(),
		confirm:      confirm,
		system:       at.system,
	}, err
}

// group reads the group. It warns if nobody updates it: a request to the manager waits then.
func (o *operation) group(ctx context.Context) (*v1.ElectionGroup, error) {
	which := reading{namespace: o.key.Namespace, name: o.key.Name}
	group, err := readGroup(ctx, o.kube, which, o.notes)
	if err != nil {
		return nil, err
	}
	if c := (lookout{o.kube, o.system, o.now}).once(ctx); c.Stale {
		fmt.Fprintf(o.notes, "%s: %s\n", display.NotUpdated, c.Warning("this group"))
	}
	return group, nil
}

// oneGroup accepts a line that names one group.
func oneGroup(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%d groups given, want one: %s GROUP", len(args), c.CommandPath())
	}
	return nil
}
