package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFlagsOfUp(t *testing.T) {
	root := t.TempDir()
	if _, err := (&flags{root: root}).complete(); err == nil || !strings.Contains(err.Error(), "build it first") {
		t.Errorf("without what is to be run: %v", err)
	}
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"agent", "manager"} {
		if err := os.WriteFile(filepath.Join(root, "bin", name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f := flags{root: root, roster: "127.0.0.1:2", images: []string{"busybox=/bin/sh"}, resolve: []string{"x.svc:1=127.0.0.1:1"}}
	o, err := f.complete()
	if err != nil {
		t.Fatal(err)
	}
	if o.Pods.Images["podesta-dev/agent"].Path != filepath.Join(root, "bin", "agent") ||
		o.Pods.Images["busybox"].Path != "/bin/sh" || o.Pods.Images["pause"].Path == "" {
		t.Errorf("images %v", o.Pods.Images)
	}
	if o.Pods.Resolve["x.svc:1"] != "127.0.0.1:1" || o.Pods.Resolve[rosterService] != "127.0.0.1:2" {
		t.Errorf("resolve %v", o.Pods.Resolve)
	}
	for want, f := range map[string]flags{
		`--resolve "A": must be NAME=VALUE`: {root: root, resolve: []string{"A"}},
		`--image "=a"`:                      {root: root, images: []string{"=a"}},
		"/ is not a program":                {root: root, images: []string{"x=/"}},
	} {
		if _, err := f.complete(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}
