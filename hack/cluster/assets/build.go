package assets

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"
)

// source is a module of our own that requires the one with the programs, so that the dependencies
// of one do not move those of another.
type source struct {
	dir      string
	goMod    []byte
	ldflags  string
	version  string
	packages map[string]string // of which package a program is
}

// build builds programs into dir. The modules that require them stay under src, and make the next
// build quicker.
func build(ctx context.Context, src, dir string, programs []string, done *tally) error {
	kubernetes, err := kubernetesSource(ctx, src)
	if err != nil {
		return err
	}
	etcd := source{
		dir:      filepath.Join(src, "etcd"),
		ldflags:  "-s -w",
		version:  Etcd,
		packages: map[string]string{"etcd": etcdModule},
	}
	if etcd.goMod, err = modFile("podesta.dev/assets/etcd", etcdModule, Etcd, nil); err != nil {
		return err
	}
	for _, s := range []source{etcd, kubernetes} {
		if err := s.build(ctx, dir, programs, done); err != nil {
			return err
		}
	}
	return nil
}

// build builds those of the programs that are in this module.
func (s source) build(ctx context.Context, dir string, programs []string, done *tally) error {
	programs = slices.DeleteFunc(slices.Clone(programs), func(program string) bool {
		return s.packages[program] == ""
	})
	if len(programs) == 0 {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "go.mod"), s.goMod, 0o644); err != nil {
		return err
	}
	// Go chooses the versions of all that the programs need, and writes them down. Otherwise a staging
	// module is v0.0.0 in the paths that are compiled in, and Go's cache has nothing in common with
	// other builds of Kubernetes on this machine.
	get := []string{"get", "-tool"}
	out := dir + "/" // each has its package's name
	if len(programs) == 1 {
		out = filepath.Join(dir, programs[0])
	}
	build := []string{"build", "-v", "-trimpath", "-ldflags", s.ldflags, "-o", out}
	for _, program := range programs {
		get = append(get, s.packages[program]+"@"+s.version)
		build = append(build, s.packages[program])
	}
	for _, args := range [][]string{get, build} {
		if _, err := goCommand(ctx, s.dir, done.count, args...); err != nil {
			return fmt.Errorf("building %s: %w", strings.Join(programs, ", "), err)
		}
	}
	return nil
}

// kubernetesSource is the module that requires Kubernetes, whose own go.mod tells which staging
// modules it replaces; they are published beside it as v0.
func kubernetesSource(ctx context.Context, src string) (source, error) {
	s := source{
		dir:     filepath.Join(src, "kubernetes"),
		ldflags: kubernetesFlags(Kubernetes),
		version: Kubernetes,
		packages: map[string]string{
			"kube-apiserver": kubernetesModule + "/cmd/kube-apiserver",
			Controllers:      kubernetesModule + "/cmd/" + Controllers,
			"kubectl":        kubernetesModule + "/cmd/kubectl",
		},
	}
	out, err := goCommand(ctx, os.TempDir(), nil, "mod", "download", "-json",
		kubernetesModule+"@"+Kubernetes)
	if err != nil {
		return s, err
	}
	var downloaded struct{ GoMod string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return s, fmt.Errorf("go mod download: %w", err)
	}
	theirs, err := os.ReadFile(downloaded.GoMod)
	if err != nil {
		return s, err
	}
	staging, err := stagingModules(theirs)
	if err != nil {
		return s, err
	}
	s.goMod, err = modFile("podesta.dev/assets/kubernetes", kubernetesModule, Kubernetes, staging)
	return s, err
}

// stagingModules are the modules that a go.mod of Kubernetes replaces by directories of its own.
func stagingModules(goMod []byte) ([]string, error) {
	file, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, replace := range file.Replace {
		if modfile.IsDirectoryPath(replace.New.Path) {
			paths = append(paths, replace.Old.Path)
		}
	}
	return paths, nil
}

// modFile is a go.mod that requires one module, with its staging modules at the version that is
// published with it.
func modFile(name, path, version string, staging []string) ([]byte, error) {
	file := new(modfile.File)
	if err := file.AddModuleStmt(name); err != nil {
		return nil, err
	}
	if err := file.AddGoStmt("1.26.0"); err != nil {
		return nil, err
	}
	if err := file.AddRequire(path, version); err != nil {
		return nil, err
	}
	published := module.Version{Version: "v0" + strings.TrimPrefix(version, "v1")}
	for _, staged := range staging {
		if err := file.AddReplace(staged, "", staged, published.Version); err != nil {
			return nil, err
		}
	}
	return file.Format()
}

// kubernetesFlags are the linker's flags; without a version the API server calls itself v0.0.0 and
// clients refuse it.
func kubernetesFlags(version string) string {
	const pkg = "k8s.io/component-base/version"
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	return fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X "+
		"%[1]s.gitMinor=%[4]s -X %[1]s.gitTreeState=clean", pkg, version, parts[0], parts[1])
}
