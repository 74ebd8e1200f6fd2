package assets

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/sync/errgroup"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"
)

// source is a module of our own that requires the one with the programs, so that the dependencies
// of one do not move those of another.
type source struct {
	dir      string
	ldflags  string
	packages map[string]string // of which package a program is
}

// build builds programs into dir, those of different modules at the same time. The modules that
// require them stay under src, and make the next build quicker.
func build(ctx context.Context, p *progress, src, dir string, programs []string) error {
	kubernetes := source{
		dir:     filepath.Join(src, "kubernetes"),
		ldflags: kubernetesFlags(Kubernetes),
		packages: map[string]string{
			"kube-apiserver": kubernetesModule + "/cmd/kube-apiserver",
			"kubectl":        kubernetesModule + "/cmd/kubectl",
		},
	}
	etcd := source{
		dir:      filepath.Join(src, "etcd"),
		ldflags:  "-s -w",
		packages: map[string]string{"etcd": etcdModule},
	}
	sources := slices.DeleteFunc([]source{kubernetes, etcd}, func(s source) bool {
		return !slices.ContainsFunc(programs, func(program string) bool {
			return s.packages[program] != ""
		})
	})
	err := p.step("downloading the source of Kubernetes "+Kubernetes+" and etcd "+Etcd, modules,
		func(done *tally) error {
			if err := writeKubernetesModule(ctx, kubernetes.dir, done); err != nil {
				return err
			}
			if err := kubernetes.choose(ctx, Kubernetes, done); err != nil {
				return err
			}
			if err := writeEtcdModule(etcd.dir); err != nil {
				return err
			}
			return each(ctx, sources, func(ctx context.Context, s source) error {
				return s.download(ctx, programs, done)
			})
		})
	if err != nil {
		return fmt.Errorf("downloading the source: %w", err)
	}
	err = p.step("compiling "+strings.Join(programs, ", "), packages, func(done *tally) error {
		return each(ctx, sources, func(ctx context.Context, s source) error {
			return s.build(ctx, dir, programs, done)
		})
	})
	if err != nil {
		return fmt.Errorf("building %s: %w", strings.Join(programs, ", "), err)
	}
	return nil
}

// each does work for all sources at once; the first error ends the others.
func each(ctx context.Context, sources []source, work func(context.Context, source) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range sources {
		group.Go(func() error { return work(ctx, s) })
	}
	return group.Wait()
}

// of returns those of the programs that are in this module.
func (s source) of(programs []string) []string {
	return slices.DeleteFunc(slices.Clone(programs), func(program string) bool {
		return s.packages[program] == ""
	})
}

// stale returns the packages of the programs that Go has yet to compile. It downloads what is
// missing.
func (s source) stale(
	ctx context.Context, programs []string, told func(line string),
) (map[string]bool, error) {
	args := []string{"list", "-trimpath", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}
	for _, program := range s.of(programs) {
		args = append(args, s.packages[program])
	}
	out, err := goCommand(ctx, s.dir, told, args...)
	if err != nil {
		return nil, err
	}
	stale := make(map[string]bool)
	for path := range strings.FieldsSeq(string(out)) {
		stale[path] = true
	}
	return stale, nil
}

// choose lets Go choose the versions of all that the programs need, and write them down. Otherwise
// a staging module is v0.0.0 in the paths that are compiled in, and Go's cache has nothing in
// common with other builds of Kubernetes on this machine.
func (s source) choose(ctx context.Context, version string, done *tally) error {
	args := []string{"get", "-tool"}
	for _, path := range slices.Sorted(maps.Values(s.packages)) {
		args = append(args, path+"@"+version)
	}
	_, err := goCommand(ctx, s.dir, done.download, args...)
	return err
}

func (s source) download(ctx context.Context, programs []string, done *tally) error {
	_, err := s.stale(ctx, programs, done.download)
	return err
}

// build links the programs one after the other: what the second shares with the first is compiled
// then.
func (s source) build(ctx context.Context, dir string, programs []string, done *tally) error {
	stale, err := s.stale(ctx, programs, nil)
	if err != nil {
		return err
	}
	for _, program := range s.of(programs) {
		delete(stale, s.packages[program]) // counted when it is linked
	}
	all := int64(len(stale) + len(s.of(programs)))
	done.total.Add(all)
	told := func(line string) { // go build -v names a package when it compiles it
		if path := strings.TrimSpace(line); stale[path] {
			delete(stale, path)
			done.done.Add(1)
			all--
		}
	}
	args := []string{"build", "-v", "-trimpath", "-ldflags", s.ldflags}
	for _, program := range s.of(programs) {
		out := filepath.Join(dir, program)
		if _, err := goCommand(ctx, s.dir, told,
			append(args, "-o", out, s.packages[program])...); err != nil {
			return err
		}
	}
	done.done.Add(all)
	return nil
}

// writeKubernetesModule writes the module that requires Kubernetes, whose own go.mod tells which
// staging modules it replaces; they are published beside it as v0.
func writeKubernetesModule(ctx context.Context, dir string, done *tally) error {
	out, err := goCommand(ctx, os.TempDir(), nil, "mod", "download", "-json",
		kubernetesModule+"@"+Kubernetes)
	if err != nil {
		return err
	}
	done.done.Add(1)
	var downloaded struct{ GoMod string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return fmt.Errorf("go mod download: %w", err)
	}
	theirs, err := os.ReadFile(downloaded.GoMod)
	if err != nil {
		return err
	}
	staging, err := stagingModules(theirs)
	if err != nil {
		return err
	}
	text, err := modFile("podesta.dev/assets/kubernetes", kubernetesModule, Kubernetes, staging)
	if err != nil {
		return err
	}
	return writeModule(dir, text)
}

func writeEtcdModule(dir string) error {
	text, err := modFile("podesta.dev/assets/etcd", etcdModule, Etcd, nil)
	if err != nil {
		return err
	}
	return writeModule(dir, text)
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

func writeModule(dir string, goMod []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.mod"), goMod, 0o644)
}

// kubernetesFlags are the linker's flags; without a version the API server calls itself v0.0.0 and
// clients refuse it.
func kubernetesFlags(version string) string {
	const pkg = "k8s.io/component-base/version"
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	return fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X "+
		"%[1]s.gitMinor=%[4]s -X %[1]s.gitTreeState=clean", pkg, version, parts[0], parts[1])
}
