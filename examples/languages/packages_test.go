package languages

import (
	"crypto/sha256"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The packages are built without the network, twice the same. They are installed from their files
// into an empty environment, and lead there.
func TestPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	for _, name := range []string{"python3", "node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not on the PATH", name)
		}
	}
	if !succeeds(t, "python3", "-c", "import ensurepip") {
		t.Skip("python3 makes no environments: Debian's python3-venv is missing")
	}
	const builds = "import setuptools, wheel"
	if !succeeds(t, "python3", "-c", builds) && !succeeds(t, "/usr/bin/python3", "-c", builds) {
		t.Skip("Python builds no wheels: setuptools and wheel are missing")
	}
	built, again := t.TempDir(), t.TempDir()
	command(t, "../../hack/packages", built)
	command(t, "../../hack/packages", again)
	wheel, tarball := only(t, built, "*.whl"), only(t, built, "*.tgz")
	for _, file := range []string{wheel, tarball} {
		if sum(t, file) != sum(t, filepath.Join(again, filepath.Base(file))) {
			t.Errorf("%s differs when it is built again", filepath.Base(file))
		}
	}
	t.Run("Python", func(t *testing.T) {
		dir := t.TempDir()
		command(t, "python3", "-m", "venv", dir)
		command(t, dir+"/bin/pip", "install", "--no-index", wheel)
		leadsFrom(t, program{command: []string{dir + "/bin/python", "-E", "../python/lead.py"}})
	})
	t.Run("Node", func(t *testing.T) {
		dir := t.TempDir()
		command(t, "npm", "install", "--offline", "--no-audit", "--no-fund", "--prefix", dir, tarball)
		main := filepath.Join(dir, "lead.mjs")
		text, err := os.ReadFile("../node/lead.mjs")
		if err == nil {
			err = os.WriteFile(main, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		leadsFrom(t, program{command: []string{"node", main}})
	})
}

// leadsFrom returns when the program leads.
func leadsFrom(t *testing.T, p program) {
	resource := newResource(t)
	agent := httptest.NewServer(renewing(t, 800*time.Millisecond, 200*time.Millisecond))
	t.Cleanup(agent.Close)
	p.begin(t, resource.url, agent.URL)
	resource.awaitActs(t, 2)
}

func succeeds(t *testing.T, name string, args ...string) bool {
	t.Helper()
	return exec.CommandContext(t.Context(), name, args...).Run() == nil
}

// command runs a command, which finds no package of this tree.
func command(t *testing.T, name string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Env = append(os.Environ(), "PYTHONPATH=")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// only is the one file of a folder that matches.
func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

func sum(t *testing.T, file string) [sha256.Size]byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(data)
}
