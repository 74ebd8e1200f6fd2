package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestCompletion(t *testing.T) {
	in := around(fakeCluster(t, interceptor.Funcs{}, scheduler(t)))
	away := around(fakeCluster(t, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("away")
		},
	}))
	for _, test := range []struct {
		in   surroundings
		line []string
		want string
	}{
		{in, []string{"status", "-n", "shop", ""}, "scheduler"},
		{in, []string{"explain", "-n", "shop", ""}, "scheduler"},
		{in, []string{"adopt", "-n", "shop", ""}, "scheduler"},
		{in, []string{"forget", "-n", "shop", ""}, "scheduler"},
		{in, []string{"step-down", "-n", "shop", ""}, "scheduler"},
		{in, []string{"status", "-n", "shop", "scheduler", ""}, ""},
		{in, []string{"status", "-n", "lab", ""}, ""},
		{away, []string{"status", "-n", "shop", ""}, ""},
		{in, []string{"forget", "-n", "shop", "scheduler", ""}, ""},
		{in, []string{"status", "-o", ""}, "wide json yaml name"},
		{in, []string{"explain", "-o", ""}, "json yaml"},
	} {
		var out strings.Builder
		command := newCommand(test.in)
		command.SetArgs(append([]string{"__complete"}, test.line...))
		command.SetOut(&out)
		command.SetErr(&strings.Builder{})
		if err := command.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, _, _ := strings.Cut(out.String(), ":4") // no names of files
		if strings.Join(strings.Fields(got), " ") != test.want || got == out.String() {
			t.Errorf("%q: %q, want %q", test.line, out.String(), test.want)
		}
	}
}
