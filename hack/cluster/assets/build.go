package assets

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"
)

// build builds the programs into dir. Each module gets a small module of its own under src that requires it, so that no
// program's dependencies move another's; src stays, and makes the next build quicker.
func build(ctx context.Context, p *progress, src, dir string) error {
	kube, etcd := filepath.Join(src, "kubernetes"), filepath.Join(src, "etcd")
	steps := []struct {
		name, hint string
		work       func(context.Context) error
	}{
		{"downloading the source of Kubernetes " + Kubernetes, "", func(ctx context.Context) error {
			return writeKubernetesModule(ctx, kube)
		}},
		{"building kube-apiserver", " (about 4 min the first time)", func(ctx context.Context) error {
			return goBuild(ctx, kube, kubernetesFlags(Kubernetes), dir, kubernetesModule+"/cmd/kube-apiserver")
		}},
		{"building kubectl", " (about 30 s the first time)", func(ctx context.Context) error {
			return goBuild(ctx, kube, kubernetesFlags(Kubernetes), dir, kubernetesModule+"/cmd/kubectl")
		}},
		{"building etcd " + Etcd, " (about 30 s the first time)", func(ctx context.Context) error {
			text, err := modFile("podesta.dev/assets/etcd", etcdModule, Etcd, nil)
			if err != nil {
				return err
			}
			if err := writeModule(etcd, text); err != nil {
				return err
			}
			return goBuild(ctx, etcd, "-s -w", filepath.Join(dir, "etcd"), etcdModule)
		}},
	}
	for _, step := range steps {
		if err := p.step(ctx, step.name, step.hint, step.work); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// writeKubernetesModule writes the module that requires Kubernetes, whose own go.mod tells which staging modules it
// replaces; they are published beside it as v0.
func writeKubernetesModule(ctx context.Context, dir string) error {
	out, err := goCommand(ctx, os.TempDir(), "mod", "download", "-json", kubernetesModule+"@"+Kubernetes)
	if err != nil {
		return err
	}
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

// modFile is a go.mod that requires one module, with its staging modules at the version that is published with it.
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

// kubernetesFlags are the linker's flags; without a version the API server calls itself v0.0.0 and clients refuse it.
func kubernetesFlags(version string) string {
	const pkg = "k8s.io/component-base/version"
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	return fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s"+
		" -X %[1]s.gitTreeState=clean", pkg, version, parts[0], parts[1])
}

func goBuild(ctx context.Context, dir, ldflags, out, pkg string) error {
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		out = filepath.Join(out, filepath.Base(pkg))
	}
	_, err := goCommand(ctx, dir, "build", "-trimpath", "-ldflags", ldflags, "-o", out, pkg)
	return err
}

// goCommand runs the go command and returns what it prints; an error carries the end of what it complained of.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		const most = 2000
		text := complaints.Bytes()
		if len(text) > most {
			text = text[len(text)-most:]
		}
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, text)
	}
	return out.Bytes(), nil
}
