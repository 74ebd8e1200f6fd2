package assets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/bubble"
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
	published, built := places(cache)
	for _, place := range []string{published, built} { // exactly our versions are better than near ones
		if err := os.Mkdir(place, 0o755); err != nil {
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
	}); err == nil || !strings.Contains(err.Error(), "kube-apiserver, kubectl is missing") {
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
	_, place := places(cache)
	for _, step := range []struct{ needed, missing []string }{
		{ControlPlane, ControlPlane},
		{All, []string{"kubectl"}},
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

// publisher serves an index and an archive as Kubernetes publishes them.
func publisher(t *testing.T, version, hash string) *httptest.Server {
	t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	files := tar.NewWriter(zip)
	for _, name := range []string{"controller-tools/envtest/etcd", "controller-tools/envtest/kube-apiserver",
		"controller-tools/envtest/kubectl", "controller-tools/../../../outside"} {
		_ = files.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(name))})
		_, _ = files.Write([]byte(name))
	}
	_ = files.Close()
	_ = zip.Close()
	if hash == "" {
		sum := sha512.Sum512(packed.Bytes())
		hash = hex.EncodeToString(sum[:])
	}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/index", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "releases:\n  %s:\n    envtest-%s-%s-%s.tar.gz:\n      hash: %s\n      selfLink: %s/archive\n",
			version, version, runtime.GOOS, runtime.GOARCH, hash, server.URL)
	})
	mux.HandleFunc("/archive", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed.Bytes()) })
	return server
}

func TestPublishedProgramsAreFetched(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "a", "b", "c")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	server := publisher(t, Kubernetes, "")
	if err := download(t.Context(), client(), server.URL+"/index", dir, &tally{}); err != nil {
		t.Fatal(err)
	}
	if missing := missingFrom(dir, All); len(missing) > 0 {
		t.Errorf("%v are missing", missing)
	}
	if found, _ := os.ReadDir(dir); len(found) != len(All) {
		t.Errorf("more than the programs: %v", found)
	}
	for up := dir; up != above; {
		if up = filepath.Dir(up); len(missingFrom(up, []string{"outside"})) == 0 {
			t.Errorf("a file of the archive is in %s, outside of the directory", up)
		}
	}
}

func TestWhatCannotBeFetched(t *testing.T) {
	for name, tc := range map[string]struct {
		version, hash, path, want string
	}{
		"another hash":          {Kubernetes, "00", "/index", "another SHA-512"},
		"another minor version": {"v1.30.0", "", "/index", errNotPublished.Error()},
		"no index":              {Kubernetes, "", "/nothing", "404"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			server := publisher(t, tc.version, tc.hash)
			err := download(t.Context(), client(), server.URL+tc.path, dir, &tally{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
			if found, _ := os.ReadDir(dir); len(found) != 0 {
				t.Errorf("files all the same: %v", found)
			}
		})
	}
}

// A download may be slow, but not stand still.
func TestADownloadThatStandsStillEnds(t *testing.T) {
	const pieces, piece = 3, standsStill / 2
	bubble.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, err := get(t.Context(), &http.Client{Transport: answering(func(r *http.Request) (*http.Response, error) {
			read, write := io.Pipe()
			go func() {
				for range pieces {
					<-time.After(piece)
					_, _ = write.Write([]byte("piece")) // it is read
				}
				<-r.Context().Done()
				_ = write.CloseWithError(r.Context().Err())
			}()
			return &http.Response{StatusCode: http.StatusOK, Body: read}, nil
		})}, "http://192.0.2.1/archive", maxArchive, nil)
		if took := time.Since(begun); !errors.Is(err, errStandsStill) || took != pieces*piece+standsStill {
			t.Errorf("it ended after %v with %v", took, err)
		}
	})
}

type answering func(*http.Request) (*http.Response, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

func TestTheNearestPublishedVersionIsChosen(t *testing.T) {
	for _, tc := range []struct {
		have []string
		want string
	}{
		{[]string{"v1.37.0", "v1.37.1", "v1.37.4"}, "v1.37.1"},
		{[]string{"v1.36.9", "v1.37.0", "v1.37.4", "v1.37.10", "v1.38.0"}, "v1.37.10"},
		{[]string{"v1.37.2-rc.0", "v1.37.0"}, "v1.37.0"},
		{[]string{"v1.36.0", "v1.38.0"}, ""},
	} {
		published := index{Releases: make(map[string]map[string]archive)}
		for _, v := range tc.have {
			published.Releases[v] = map[string]archive{"envtest-" + v + "-linux-arm64.tar.gz": {SelfLink: v}}
		}
		got, err := published.choose("v1.37.1", "linux", "arm64")
		if got.SelfLink != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("of %v: %q, %v, want %q", tc.have, got.SelfLink, err, tc.want)
		}
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
