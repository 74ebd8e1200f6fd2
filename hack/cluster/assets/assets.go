// Package assets finds or makes the programs of a control plane: etcd, kube-apiserver and kubectl.
//
// It looks in this order: the directory that KUBEBUILDER_ASSETS names; the cache; the binaries that Kubernetes publishes
// for envtest; and where those cannot be had, it builds the programs from their Go modules (some minutes, once).
// Needed are Go and a module proxy; neither root nor Docker.
package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// The versions that belong together.
const (
	Kubernetes = "v1.37.1"
	Etcd       = "v3.7.3"
)

// Programs are the files of the directory.
var Programs = []string{"etcd", "kube-apiserver", "kubectl"}

// Options say where to look and whom to tell.
type Options struct {
	// Cache is the directory with one subdirectory for each combination of versions; the user's cache if empty.
	Cache string
	// Log is told of every step, and every five seconds that a step goes on.
	Log io.Writer
}

// Dir returns the directory that holds the Programs, making it if it is missing. It is safe to call in several programs
// at once: one makes it, the others wait. What it returns is complete.
func Dir(ctx context.Context, o Options) (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("the local cluster runs on Linux only, not on %s: use kind instead", runtime.GOOS)
	}
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		if missing := missingFrom(dir); missing != "" {
			return "", fmt.Errorf("KUBEBUILDER_ASSETS names %s, which has no %s: unset it, or add the program", dir, missing)
		}
		return filepath.Abs(dir)
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	cache, err := o.cache()
	if err != nil {
		return "", err
	}
	if dir, found := cached(cache); found {
		return dir, nil
	}
	unlock, err := lock(ctx, cache, o.Log)
	if err != nil {
		return "", err
	}
	defer unlock()
	if dir, found := cached(cache); found { // somebody else made it while we waited
		return dir, nil
	}
	return fill(ctx, cache, o.Log)
}

// fill makes the directory, published programs first.
func fill(ctx context.Context, cache string, log io.Writer) (string, error) {
	progress := newProgress(log)
	published, built := places(cache)
	err := progress.step(ctx, "fetching the published etcd, kube-apiserver and kubectl", "", func(ctx context.Context) error {
		return publish(published, func(dir string) error { return download(ctx, client(), indexURL(), dir) })
	})
	if err == nil {
		return published, nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	progress.say("they cannot be had (%v): building them from their Go modules, once, about 5 min on 2 cores", err)
	err = publish(built, func(dir string) error {
		return build(ctx, progress, filepath.Join(cache, "src"), dir)
	})
	if err != nil {
		return "", err
	}
	progress.say("built into %s", built)
	return built, nil
}

// publish fills a directory beside its place and moves it there whole.
func publish(place string, fill func(dir string) error) error {
	temporary, err := os.MkdirTemp(filepath.Dir(place), filepath.Base(place)+".making-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary) //nolint:errcheck // what is left of a failure is no failure
	if err := fill(temporary); err != nil {
		return err
	}
	if missing := missingFrom(temporary); missing != "" {
		return fmt.Errorf("%s is missing from what was made", missing)
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	return os.Rename(temporary, place)
}

func (o Options) cache() (string, error) {
	cache := o.Cache
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("%w: name a cache with --dir", err)
		}
		cache = filepath.Join(user, "podesta", "assets")
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", err
	}
	return cache, os.MkdirAll(cache, 0o755)
}

// places are the directories of one cache: published programs are those of the newest patch release that is published,
// built ones have exactly our versions.
func places(cache string) (published, built string) {
	return filepath.Join(cache, minor(Kubernetes)+"-published"), filepath.Join(cache, Kubernetes+"-"+Etcd)
}

func cached(cache string) (dir string, found bool) {
	published, built := places(cache)
	for _, dir := range []string{built, published} {
		if missingFrom(dir) == "" {
			return dir, true
		}
	}
	return "", false
}

// missingFrom names the first program that is not there, or none.
func missingFrom(dir string) string {
	for _, program := range Programs {
		info, err := os.Stat(filepath.Join(dir, program))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return program
		}
	}
	return ""
}

var errNotPublished = errors.New("not published for this version and machine")
