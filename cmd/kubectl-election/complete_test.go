package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func TestCompletion(t *testing.T) {
	in := around(fakeCluster(t, interceptor.Funcs{}, scheduler(t)))
	away := around(fakeCluster(t, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("away")
		},
	}))
	stalled := around(fakeCluster(t, interceptor.Funcs{}, lost()))
	spaces := inspecting(t, interceptor.Funcs{}, namespace("shop"), namespace("lab"))
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, []byte(`{contexts: [{name: there}, {name: here}],
users: [{name: me}], clusters: [{name: c}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
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
		{in, []string{"step-down", "-n", "shop", "scheduler", "--to", ""}, "scheduler-3 scheduler-2 scheduler-1 scheduler-0"},
		{in, []string{"step-down", "-n", "shop", "--to", ""}, ""},
		{in, []string{"step-down", "-n", "shop", "other", "--to", ""}, ""},
		{stalled, []string{"forget", "-n", "shop", "scheduler", ""}, "p-2 p-3 p-4"},
		{stalled, []string{"forget", "-n", "shop", "scheduler", "p-3", ""}, "p-2 p-4"},
		{in, []string{"forget", "-n", "shop", "scheduler", ""}, ""},
		{spaces, []string{"status", "-n", ""}, "lab shop"},
		{in, []string{"status", "--context", ""}, "here there"},
		{in, []string{"step-down", "--user", ""}, "me"},
		{in, []string{"trace", "--cluster", ""}, "c"},
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
