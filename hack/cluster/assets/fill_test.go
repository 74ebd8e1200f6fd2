package assets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// playedGo plays the go command: setup-envtest fetches, or is refused, and go build makes files.
const playedGo = `#!/bin/sh
set -e
case $1 in
mod) echo '{"GoMod": "'$PLAYED/go.mod'"}' ;;
run) [ -n "$PUBLISHED" ]; mkdir -p "$PUBLISHED"
  for program in etcd kube-apiserver kubectl; do echo fetched >"$PUBLISHED/$program"; chmod +x "$PUBLISHED/$program"; done
  echo "$PUBLISHED" ;;
build) while [ "$1" != -o ]; do shift; done; out=$2; shift 2; echo "$@" >>"$PLAYED/builds"
  for package; do
    case $out in */) file=$out${package##*/} ;; *) file=$out ;; esac
    echo built >"$file"; chmod +x "$file"
  done ;;
esac
`

// play puts that go command first in the PATH and returns its directory. Its setup-envtest fetches
// to published, or fails if that is empty.
func play(t *testing.T, published string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"go": playedGo, "go.mod": "module k8s.io/kubernetes\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("PLAYED", dir)
	t.Setenv("PUBLISHED", published)
	t.Setenv("KUBEBUILDER_ASSETS", "")
	return dir
}

// published plays dl.k8s.io with a kube-controller-manager and its checksum. It has none if content
// is empty.
func published(t *testing.T, content, sum string) (address string, asked *int) {
	t.Helper()
	asked = new(int)
	path := fmt.Sprintf("/%s/bin/linux/%s/kube-controller-manager", Kubernetes, runtime.GOARCH)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		switch {
		case content != "" && r.URL.Path == path:
			fmt.Fprint(w, content)
		case content != "" && r.URL.Path == path+".sha256":
			fmt.Fprint(w, sum+"\n")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// Dir fetches the programs that are published and builds the others, all into one directory.
func TestWhatCannotBeHadIsBuilt(t *testing.T) {
	const content = "a controller manager"
	sum := sha256.Sum256([]byte(content))
	right := hex.EncodeToString(sum[:])
	const kube = "k8s.io/kubernetes/cmd/"
	for name, test := range map[string]struct {
		programs         []string
		envtest          bool // setup-envtest can fetch
		content, sum     string
		fetched, builtAs string // what the controllers' file says, and what go build was asked for
		asked            bool   // dl.k8s.io is asked
	}{
		"everything is published": {All, true, content, right, content, "", true},
		"nothing is published": {All, false, "", "", "built\n",
			"go.etcd.io/etcd/server/v3\n" + kube + "kube-apiserver " + kube + "kube-controller-manager " + kube + "kubectl\n", true},
		"only envtest's is":        {All, true, "", "", "built\n", kube + "kube-controller-manager\n", true},
		"what comes is another":    {All, true, "changed on the way", right, "built\n", kube + "kube-controller-manager\n", true},
		"only the controllers are": {[]string{"etcd", Controllers}, false, content, right, content, "go.etcd.io/etcd/server/v3\n", true},
		"nobody needs controllers": {ControlPlane, true, content, right, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			place, where := built(cache), ""
			if test.envtest {
				place = filepath.Join(cache, "k8s", fmt.Sprintf("1.37.9-linux-%s", runtime.GOARCH))
				where = place
			}
			played := play(t, where)
			address, asked := published(t, test.content, test.sum)
			said := &strings.Builder{}
			o := Options{Programs: test.programs, Cache: cache, Log: said, releases: address}
			for range 2 { // the second finds it all in the cache
				if dir, err := Dir(t.Context(), o); err != nil || dir != place {
					t.Fatalf("Dir = %q, %v, want %q; it said:\n%s", dir, err, place, said)
				}
			}
			if missing := missingFrom(place, test.programs); len(missing) > 0 {
				t.Errorf("%v are missing", missing)
			}
			if text, _ := os.ReadFile(filepath.Join(place, Controllers)); string(text) != test.fetched {
				t.Errorf("the controllers are %q, want %q", text, test.fetched)
			}
			if builds, _ := os.ReadFile(filepath.Join(played, "builds")); string(builds) != test.builtAs {
				t.Errorf("go build was asked for\n%swant\n%s", builds, test.builtAs)
			}
			if (*asked > 0) != test.asked {
				t.Errorf("dl.k8s.io was asked %d times", *asked)
			}
			left, _ := filepath.Glob(filepath.Join(cache, "*", "*.making-*"))
			again, _ := filepath.Glob(filepath.Join(cache, "*.making-*"))
			if left = slices.Concat(left, again); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
