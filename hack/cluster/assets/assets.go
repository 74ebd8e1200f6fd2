// Package assets finds or makes the programs of a control plane: etcd, kube-apiserver,
// kube-controller-manager and kubectl.
//
// It looks in the directory that KUBEBUILDER_ASSETS names, or else in the cache. It makes programs
// that the cache lacks: setup-envtest fetches what Kubernetes publishes for envtest, and
// kube-controller-manager comes from dl.k8s.io. It builds programs that it cannot fetch from their
// Go modules, once (some minutes). It needs Go and a module proxy, but no root and no Docker.
package assets

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// The versions that belong together.
const (
	Kubernetes = "v1.37.1"
	Etcd       = "v3.7.3"
)

// setupEnvtest is the program that fetches what Kubernetes publishes, and fetching how long it may
// take.
const (
	setupEnvtest = "sigs.k8s.io/controller-runtime/tools/setup-envtest@v0.25.1"
	fetching     = 10 * time.Minute
)

// Controllers is the program that has the controllers of Deployments and StatefulSets.
const Controllers = "kube-controller-manager"

// ControlPlane are the programs that serve an API; All are all that there are.
var (
	ControlPlane = []string{"etcd", "kube-apiserver"}
	All          = []string{"etcd", "kube-apiserver", Controllers, "kubectl"}
)

// Options say what is needed, where to look and whom to tell.
type Options struct {
	// Programs are those that are needed, of All; All if empty.
	Programs []string
	// Cache is the directory with one subdirectory for each combination of versions; the user's
	// cache if empty.
	Cache string
	// Log gets a line for every step and, while a step goes on, how far it is.
	Log io.Writer

	releases string // where Kubernetes publishes its programs; for tests
}

// Dir returns a directory that holds the programs, making those that are missing. Several processes
// may call it at once: one makes the programs, the others wait. What it returns is complete.
func Dir(ctx context.Context, o Options) (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("the local cluster runs on Linux only, not on %s: use kind instead",
			runtime.GOOS)
	}
	if len(o.Programs) == 0 {
		o.Programs = All
	}
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		if missing := missingFrom(dir, o.Programs); len(missing) > 0 {
			return "", fmt.Errorf("KUBEBUILDER_ASSETS names %s, which has no %s: unset it, or add the "+
				"program",
				dir, strings.Join(missing, ", "))
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
	if dir, found := cached(cache, o.Programs); found {
		return dir, nil
	}
	unlock, err := lock(ctx, cache, o.Log)
	if err != nil {
		return "", err
	}
	defer unlock()
	// another process made it while this one waited
	if dir, found := cached(cache, o.Programs); found {
		return dir, nil
	}
	return fill(ctx, cache, o)
}

// fill makes what is missing: it fetches published programs, and builds those that cannot be had.
func fill(ctx context.Context, cache string, o Options) (string, error) {
	progress := progress{start: time.Now(), log: o.Log}
	dir := fetch(ctx, progress, cache, o)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if len(missingFrom(dir, o.Programs)) == 0 {
		return dir, nil
	}
	progress.say("building what cannot be had from its Go modules, once, about 5 min on 2 cores")
	err := publish(dir, o.Programs, func(temporary string, missing []string) error {
		return progress.step("building "+strings.Join(missing, ", "), func(done *tally) error {
			return build(ctx, filepath.Join(cache, "src"), temporary, missing, done)
		})
	})
	if err != nil {
		return "", err
	}
	progress.say("built into %s", dir)
	return dir, nil
}

// fetch returns the directory that is to have the programs, with those that can be had.
func fetch(ctx context.Context, progress progress, cache string, o Options) (dir string) {
	envtest := slices.DeleteFunc(slices.Clone(o.Programs), isControllers)
	dir, found := cached(cache, envtest)
	if !found {
		dir = built(cache)
		err := progress.step("fetching etcd, kube-apiserver and kubectl with setup-envtest",
			func(done *tally) error {
				fetched, err := fetchEnvtest(ctx, cache, envtest, done)
				if err == nil {
					dir = fetched
				}
				return err
			})
		if err != nil {
			progress.say("they cannot be had: %v", err)
		}
	}
	if len(envtest) == len(o.Programs) {
		return dir
	}
	err := publish(dir, []string{Controllers}, func(temporary string, _ []string) error {
		return progress.step("fetching "+Controllers, func(done *tally) error {
			return download(ctx, cmp.Or(o.releases, releases), temporary, Controllers, done)
		})
	})
	if err != nil {
		progress.say("it cannot be had: %v", err)
	}
	return dir
}

func isControllers(program string) bool { return program == Controllers }

// fetchEnvtest has setup-envtest fetch the newest published patch release of our minor version.
func fetchEnvtest(
	ctx context.Context, cache string, programs []string, done *tally,
) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetching)
	defer cancel()
	out, err := goCommand(ctx, cache, done.count, "run", setupEnvtest, "use",
		strings.TrimPrefix(semver.MajorMinor(Kubernetes), "v")+".x", "--bin-dir", cache, "-p", "path")
	if err != nil {
		return "", err
	}
	dir := strings.TrimSpace(string(out))
	if missing := missingFrom(dir, programs); len(missing) > 0 {
		return "", fmt.Errorf("%s is missing in %s", strings.Join(missing, ", "), dir)
	}
	return dir, nil
}

// publish makes the programs that a directory does not have yet in a directory beside it, and moves
// them there when all are complete.
func publish(place string, programs []string, fill func(dir string, missing []string) error) error {
	temporary, err := os.MkdirTemp(filepath.Dir(place), filepath.Base(place)+".making-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary) //nolint:errcheck // what is left of a failure is no failure
	wanted := missingFrom(place, programs)
	if err := fill(temporary, wanted); err != nil {
		return err
	}
	if missing := missingFrom(temporary, wanted); len(missing) > 0 {
		return fmt.Errorf("%s is missing from what was made", strings.Join(missing, ", "))
	}
	if err := os.MkdirAll(place, 0o755); err != nil {
		return err
	}
	for _, program := range wanted {
		if err := os.Rename(filepath.Join(temporary, program),
			filepath.Join(place, program)); err != nil {
			return err
		}
	}
	return nil
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

// built is the directory of the programs that are built; they have exactly our versions.
func built(cache string) string { return filepath.Join(cache, Kubernetes+"-"+Etcd) }

// cached returns the directory of what is built, or else of what setup-envtest has fetched.
func cached(cache string, programs []string) (dir string, found bool) {
	fetched, _ := filepath.Glob(filepath.Join(cache, "k8s", fmt.Sprintf("%s.*-%s-%s",
		strings.TrimPrefix(semver.MajorMinor(Kubernetes), "v"), runtime.GOOS, runtime.GOARCH)))
	for _, dir := range append([]string{built(cache)}, fetched...) {
		if len(missingFrom(dir, programs)) == 0 {
			return dir, true
		}
	}
	return "", false
}

// missingFrom names the programs that a directory does not have.
func missingFrom(dir string, programs []string) []string {
	return slices.DeleteFunc(slices.Clone(programs), func(program string) bool {
		info, err := os.Stat(filepath.Join(dir, program))
		return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
	})
}
