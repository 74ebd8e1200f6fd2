package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFlagsOfUp(t *testing.T) {
	agent := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(agent, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	f := upFlags{agent: agent, images: []string{"busybox=/bin/sh"}, resolve: []string{"x.svc:1=127.0.0.1:2"}}
	f.options.Manager.Path = agent
	o, err := f.complete()
	if err != nil {
		t.Fatal(err)
	}
	if got := o.Pods.Images["podesta-dev/agent"].Path; got != agent {
		t.Errorf("the agent's image is %q", got)
	}
	if o.Pods.Images["busybox"].Path != "/bin/sh" || o.Pods.Images["pause"].Path == "" {
		t.Errorf("images %v", o.Pods.Images)
	}
	if o.Pods.Resolve["x.svc:1"] != "127.0.0.1:2" {
		t.Errorf("resolve %v", o.Pods.Resolve)
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	for want, f := range map[string]upFlags{
		`--resolve "A": must be NAME=VALUE`: {resolve: []string{"A"}},
		"--image x: ":                       {images: []string{"x=/nowhere/x"}},
		"build it first":                    {agent: "/nowhere/agent"},
		"/ is not a program":                {images: []string{"x=/"}},
		`--resolve "=a"`:                    {resolve: []string{"=a"}},
	} {
		if _, err := f.complete(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}
