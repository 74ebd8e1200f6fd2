package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
	"github.com/podesta-dev/podesta/internal/display/text"
)

// operation is a command that asks the manager to do something with a group: it shows a plan, asks
// for confirmation, makes a request, and waits for the manager.
type operation struct {
	surroundings
	kube       apiClient
	key        types.NamespacedName
	out, notes io.Writer
	confirm    func(group string) error
	at         *cluster
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
		at:           at,
	}, err
}

// fetch reads the group alone.
func (o *operation) fetch(ctx context.Context) (*v1.ElectionGroup, error) {
	return readGroup(ctx, o.kube, reading{namespace: o.key.Namespace, name: o.key.Name}, o.notes)
}

// read reads the group, and finds out how current its status is.
func (o *operation) read(ctx context.Context) (*v1.ElectionGroup, display.Current, error) {
	group, err := o.fetch(ctx)
	if err != nil {
		return nil, display.Current{}, err
	}
	current, err := o.current(ctx, o.kube, o.at, group, o.notes)
	return group, current, err
}

// group reads the group, and says as of when that is. If nobody updates the status, it shows what
// the agents say as well: a request to the manager waits then.
func (o *operation) group(ctx context.Context) (*v1.ElectionGroup, error) {
	group, current, err := o.read(ctx)
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(o.notes, text.AsOf(display.Dated(group, o.now(), current), text.Options{}))
	return group, err
}

// oneGroup accepts a line that names one group.
func oneGroup(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%d groups given, want one: %s GROUP", len(args), c.CommandPath())
	}
	return nil
}
