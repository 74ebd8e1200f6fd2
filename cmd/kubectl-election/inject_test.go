package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const shortPod = `# mine
kind: Pod
metadata: {name: p, labels: {podesta.dev/group: g}}
spec:
  containers:
  - name: app
`

// injected runs kubectl election inject with that standard input.
func injected(in string, args ...string) (out, notes string, err error) {
	var stdout, stderr bytes.Buffer
	command := newCommand(around(nil))
	command.SetArgs(append([]string{"inject"}, args...))
	command.SetIn(strings.NewReader(in))
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	err = command.Execute()
	return stdout.String(), stderr.String(), err
}

// The manifest goes to standard output and nothing else does, so that kubectl may read it; what was
// done is said beside it.
func TestInject(t *testing.T) {
	out, notes, err := injected(
		shortPod,
		"-f",
		"-",
		"--image",
		"example.com/agent:v2",
		"--system-namespace",
		"elections",
	)
	if err != nil || notes != "pod/p: agent added\n" {
		t.Fatalf("%q, %v", notes, err)
	}
	for _, want := range []string{"# mine\n", "    image: " +
		"example.com/agent:v2\n", "    - --manager=podesta-roster.elections.svc:9443\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	again, notes, err := injected(out, "-f", "-")
	if err != nil || again != out || notes != "pod/p: already has the agent\n" {
		t.Errorf("the second time: %q, %v\n%s", notes, err, again)
	}

	file := filepath.Join(t.TempDir(), "pod.yaml")
	if err := os.WriteFile(file, []byte(shortPod), 0o600); err != nil {
		t.Fatal(err)
	}
	fromFile, _, err := injected("", "-f", file)
	fromInput, _, _ := injected(shortPod, "--filename=-")
	if err != nil || fromFile == "" || fromFile != fromInput {
		t.Errorf("from a file: %v\n%s", err, fromFile)
	}

	const other = "kind: Pod\n"
	out, notes, err = injected(other, "-f", "-")
	if err != nil || out != other ||
		notes != "nothing to do: no pod or pod template has the label podesta.dev/group\n" {
		t.Errorf("%q, %q, %v", out, notes, err)
	}
}

// inject policy prints what config/inject applies.
func TestInjectPolicy(t *testing.T) {
	var want []string
	for _, name := range []string{"mutating.yaml", "validating.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", "inject", name))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, string(text))
	}
	if out, _, err := injected("", "policy"); err != nil || out != strings.Join(want, "---\n") {
		t.Errorf("config/inject has something else (%v):\n%s", err, out)
	}
	out, _, err := injected(
		"",
		"policy",
		"--image",
		"example.com/agent:v2",
		"--manager",
		"10.0.0.1:443",
		"--system-namespace",
		"elections",
	)
	if err != nil || strings.Count(out, "'example.com/agent:v2'") != 2 ||
		strings.Count(out, "'10.0.0.1:443'") != 1 ||
		strings.Count(out, "[kube-system, elections]") != 2 ||
		strings.Contains(out, "podesta-system") {
		t.Errorf("the settings are not where they belong (%v):\n%s", err, out)
	}
}

func TestInjectRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"":                        "no manifest: use -f FILE",
		"pod.yaml":                "to read that manifest, use -f pod.yaml",
		"-f /does/not/exist":      "/does/not/exist: no such file",
		"-f - --image IMAGE":      `image "IMAGE": must be an image reference such as ghcr.io/podesta-dev/agent:latest`,
		"-f - --manager here":     `manager "here": must be HOST:PORT`,
		"policy --manager a'b:80": `manager "a'b:80": must be HOST:PORT`,
		"policy now":              "now",
	} {
		out, _, err := injected(shortPod, strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), want) || out != "" {
			t.Errorf("inject %s: %v, want %q; printed %q", line, err, want, out)
		}
	}
	taken := strings.Replace(shortPod, "name: app", "name: podesta-agent", 1)
	if out, _, err := injected(taken, "-f", "-"); err == nil ||
		!strings.Contains(err.Error(), "pod/p: a container is named podesta-agent") ||
		out != "" {
		t.Errorf("%v; printed %q", err, out)
	}
}
