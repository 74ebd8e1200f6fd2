package languages

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/examples/internal/group"
)

// program is an example, and what it needs.
type program struct {
	language string
	command  []string
	needs    []string     // on the PATH
	prepare  func() error // nil: nothing is to be done
}

var programs = []program{
	{"Python", []string{"python3", "../python/lead.py"}, []string{"python3"}, nil},
	{"asyncio", []string{"python3", "testdata/leads.py"}, []string{"python3"}, nil},
	{"Shell", []string{"bash", "../shell/lead.sh"}, []string{"bash", "curl"}, nil},
	{"Node", []string{"node", nodeDir + "/lead.mjs"}, []string{"node"}, prepareNode},
	{"Java", []string{"java", "-cp", javaDir, "Lead"}, []string{"java", "javac"}, prepareJava},
}

func TestMain(m *testing.M) {
	if url := os.Getenv(appEnv); url != "" {
		app(url)
		return
	}
	if err := preparePython(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(prepared)
		os.Exit(code)
	}))
}

// In every language one replica acts at a time, and another one goes on when its agent stands
// still, when both are killed, when both stand still, when it alone stands still, and when it is told
// to end.
func TestLanguages(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds for each language")
	}
	for _, p := range programs {
		t.Run(p.language, func(t *testing.T) {
			p.skipUnlessThere(t)
			t.Parallel()
			story(t, p)
		})
	}
}

func (p program) skipUnlessThere(t *testing.T) {
	for _, name := range p.needs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not on the PATH", name)
		}
	}
	if p.prepare != nil {
		if err := p.prepare(); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), p.command[0], "--version").CombinedOutput(); err == nil {
		version, _, _ := bytes.Cut(out, []byte("\n"))
		t.Logf("%s", version)
	}
}

func story(t *testing.T, p program) {
	resource := newResource(t)
	replicas := startGroup(t, p, resource.url)

	first := resource.await(t, act{})
	paused := signal(t, syscall.SIGSTOP, replicas[first.name].agent) // the program goes on, and hears nothing
	second := resource.await(t, first)
	signal(t, syscall.SIGCONT, replicas[first.name].agent)

	releaseAgent, releaseApp := replicas[second.name].agent.hold(), replicas[second.name].app.hold()
	signal(t, syscall.SIGKILL, replicas[second.name].agent, replicas[second.name].app)
	third := resource.await(t, second)
	releaseAgent()
	releaseApp()

	signal(t, syscall.SIGSTOP, replicas[third.name].app, replicas[third.name].agent)
	fourth := resource.await(t, third)
	signal(t, syscall.SIGCONT, replicas[third.name].app, replicas[third.name].agent)
	resource.awaitMore(t, fourth.epoch)

	signal(t, syscall.SIGSTOP, replicas[fourth.name].app) // its agent works
	fifth := resource.await(t, fourth)
	signal(t, syscall.SIGCONT, replicas[fourth.name].app)

	leaves := replicas[fifth.name].app
	leaves.hold()
	err := leaves.awaitEnd(t, func() { signal(t, syscall.SIGTERM, leaves) })
	sixth := resource.await(t, fifth)
	t.Logf("acted in turn: %v, %v, %v, %v, %v, which SIGTERM ended with %v, and %v",
		first, second, third, fourth, fifth, err, sixth)

	for _, problem := range resource.problems() {
		t.Error(problem)
	}
	if late := resource.after(first, paused.Add(group.Window)); late > 1 {
		t.Errorf("%d acts of %s after its permission was over, and nothing told it but the clock", late, first.name)
	}
	if t.Failed() {
		t.Logf("what reached the resource:\n%s", strings.Join(resource.story(), "\n"))
	}
}
