package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestTheDirectoryOfTheEnvironmentComesFirst(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	if _, err := Dir(t.Context(), Options{Cache: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "has no etcd") {
		t.Errorf("an empty directory: %v", err)
	}
	fillWith(t, dir, All)
	if got, err := Dir(t.Context(), Options{Cache: t.TempDir()}); err != nil || got != dir {
		t.Errorf("Dir = %q, %v", got, err)
	}
}

func TestWhatIsCachedIsNotMadeAgain(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	cache := t.TempDir()
	fetched := filepath.Join(cache, "k8s", fmt.Sprintf("1.37.0-%s-%s", runtime.GOOS, runtime.GOARCH)) // as setup-envtest lays it
	for _, place := range []string{fetched, built(cache)} {                                           // exactly our versions are better than near ones
		if err := os.MkdirAll(place, 0o755); err != nil {
			t.Fatal(err)
		}
		fillWith(t, place, All)
		if got, err := Dir(t.Context(), Options{Cache: cache}); err != nil || got != place {
			t.Errorf("Dir = %q, %v, want %q", got, err, place)
		}
	}
}

func TestADirectoryAppearsWholeOrNotAtAll(t *testing.T) {
	place := filepath.Join(t.TempDir(), "place")
	if err := publish(place, All, func(dir string, _ []string) error {
		return os.WriteFile(filepath.Join(dir, "etcd"), nil, 0o755)
	}); err == nil || !strings.Contains(err.Error(), "kube-apiserver, kube-controller-manager, kubectl is missing") {
		t.Errorf("a third of it: %v", err)
	}
	if err := publish(place, All, func(string, []string) error { return errors.New("no") }); err == nil {
		t.Error("a failure was published")
	}
	if left, _ := os.ReadDir(filepath.Dir(place)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := publish(place, All, func(dir string, _ []string) error { fillWith(t, dir, All); return nil }); err != nil {
		t.Error(err)
	}
	if missing := missingFrom(place, All); len(missing) > 0 {
		t.Errorf("%v are missing", missing)
	}
}

func TestOnlyWhatIsMissingIsMade(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	cache := t.TempDir()
	place := built(cache)
	for _, step := range []struct{ needed, missing []string }{
		{ControlPlane, ControlPlane},
		{All, []string{Controllers, "kubectl"}},
	} {
		if _, found := cached(cache, step.needed); found {
			t.Errorf("%v are cached before they are made", step.needed)
		}
		if err := publish(place, step.needed, func(dir string, missing []string) error {
			if !slices.Equal(missing, step.missing) {
				t.Errorf("asked to make %v, want %v", missing, step.missing)
			}
			fillWith(t, dir, missing)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got, err := Dir(t.Context(), Options{Cache: cache, Programs: step.needed}); err != nil || got != place {
			t.Errorf("Dir = %q, %v", got, err)
		}
	}
}

func fillWith(t *testing.T, dir string, programs []string) {
	t.Helper()
	for _, program := range programs {
		if err := os.WriteFile(filepath.Join(dir, program), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOneFillsTheCacheWhileOthersWait(t *testing.T) {
	cache := t.TempDir()
	unlock, err := lock(t.Context(), cache, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	waits, says := io.Pipe()
	second := make(chan error, 1)
	go func() {
		unlock, err := lock(t.Context(), cache, says)
		if err == nil {
			unlock()
		}
		second <- err
	}()
	if _, err := waits.Read(make([]byte, 1000)); err != nil { // it says that it waits
		t.Fatal(err)
	}
	select {
	case err := <-second:
		t.Fatalf("the second did not wait: %v", err)
	default:
	}
	given, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lock(given, cache, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("who gives up waiting: %v", err)
	}
	unlock()
	if err := <-second; err != nil {
		t.Error(err)
	}
}

func TestTheModuleThatBuildsKubernetes(t *testing.T) {
	staging, err := stagingModules([]byte("module k8s.io/kubernetes\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n" +
		"\texample.org/x => example.org/y v1.0.0\n\tk8s.io/kubectl => ./staging/src/k8s.io/kubectl\n)\n"))
	if err != nil || !slices.Equal(staging, []string{"k8s.io/api", "k8s.io/kubectl"}) {
		t.Fatalf("staging modules %v, %v", staging, err)
	}
	text, err := modFile("podesta.dev/x", kubernetesModule, "v1.37.1", staging)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"require k8s.io/kubernetes v1.37.1\n", "replace k8s.io/api => k8s.io/api v0.37.1\n",
		"replace k8s.io/kubectl => k8s.io/kubectl v0.37.1\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
