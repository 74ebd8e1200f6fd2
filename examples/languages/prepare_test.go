package languages

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// prepared is what the programs run from: the examples beside the packages of this tree, as they
// are when the packages are installed.
var (
	prepared = filepath.Join(os.TempDir(), fmt.Sprintf("podesta-languages-%d", os.Getpid()))
	nodeDir  = filepath.Join(prepared, "node")
	javaDir  = filepath.Join(prepared, "java")
)

// preparePython has Python find the package, and write nothing to the tree.
func preparePython() error {
	path, err := filepath.Abs("../../client/python")
	if err != nil {
		return err
	}
	if err := os.Setenv("PYTHONPATH", path); err != nil {
		return err
	}
	return os.Setenv("PYTHONDONTWRITEBYTECODE", "1")
}

// prepareNode copies the example, because Node looks for packages above where a program is.
var prepareNode = sync.OnceValue(func() error {
	program, err := os.ReadFile("../node/lead.mjs")
	if err != nil {
		return err
	}
	path, err := filepath.Abs("../../client/node")
	if err != nil {
		return err
	}
	modules := filepath.Join(nodeDir, "node_modules")
	if err := os.MkdirAll(modules, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(path, filepath.Join(modules, "podesta")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(nodeDir, "lead.mjs"), program, 0o600)
})

// prepareJava compiles the example.
var prepareJava = sync.OnceValue(func() error {
	sources, err := filepath.Glob("../java/*.java")
	if err != nil {
		return err
	}
	javac := exec.CommandContext(context.Background(), "javac",
		append([]string{"-Xlint", "-Werror", "-d", javaDir}, sources...)...)
	if out, err := javac.CombinedOutput(); err != nil {
		return fmt.Errorf("javac: %w\n%s", err, out)
	}
	return nil
})
