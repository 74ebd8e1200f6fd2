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
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/mod/semver"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

// Nothing that is fetched may be larger than this; an archive has about 80 MB.
const (
	maxIndex   = 4 << 20
	maxArchive = 512 << 20
)

func indexURL() string { return envtest.DefaultBinaryAssetsIndexURL }

// client finds out within seconds that there is no way out of this machine, but leaves a slow
// download its time.
func client() *http.Client {
	const patience = 3 * time.Second
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: patience}).DialContext,
		TLSHandshakeTimeout:   patience,
		ResponseHeaderTimeout: 2 * patience,
		DisableKeepAlives:     true,
	}}
}

// index lists what is published: version → archive's name → archive.
type index struct {
	Releases map[string]map[string]archive `json:"releases"`
}

type archive struct {
	Hash     string `json:"hash"`
	SelfLink string `json:"selfLink"`
}

// download fetches the programs that Kubernetes publishes for envtest into dir, checking their
// hash.
func download(ctx context.Context, client *http.Client, indexURL, dir string, done *tally) error {
	text, err := get(ctx, client, indexURL, maxIndex, nil)
	if err != nil {
		return err
	}
	var published index
	if err := yaml.Unmarshal(text, &published); err != nil {
		return fmt.Errorf("the index of published programs: %w", err)
	}
	found, err := published.choose(Kubernetes, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	packed, err := get(ctx, client, found.SelfLink, maxArchive, done)
	if err != nil {
		return err
	}
	if sum := sha512.Sum512(packed); hex.EncodeToString(sum[:]) != found.Hash {
		return fmt.Errorf("%s has another SHA-512 than the index says", found.SelfLink)
	}
	return unpack(bytes.NewReader(packed), dir)
}

// choose returns the archive of the version, or of the newest patch release of its minor version:
// only few are published.
func (i index) choose(version, goos, goarch string) (archive, error) {
	var versions []string
	for v := range i.Releases {
		if minor(v) == minor(version) && semver.Prerelease(v) == "" {
			versions = append(versions, v)
		}
	}
	slices.SortFunc(versions, func(a, b string) int { return semver.Compare(b, a) })
	if slices.Contains(versions, version) {
		versions = append([]string{version}, versions...)
	}
	for _, v := range versions {
		if found, ok := i.Releases[v][fmt.Sprintf("envtest-%s-%s-%s.tar.gz", v, goos, goarch)]; ok {
			return found, nil
		}
	}
	return archive{}, errNotPublished
}

// minor is the version without its patch: v1.37.1 → v1.37.
func minor(version string) string { return semver.MajorMinor(version) }

// standsStill is for how long nothing may come of a download before it ends: a connection that is
// silent would keep everybody waiting who needs the programs.
const standsStill = 30 * time.Second

var errStandsStill = fmt.Errorf("nothing has come for %v", standsStill)

// moving is a download; each piece of it winds the timer up again.
type moving struct {
	io.Reader
	still *time.Timer
}

func (m moving) Read(piece []byte) (int, error) {
	n, err := m.Reader.Read(piece)
	if n > 0 {
		m.still.Reset(standsStill)
	}
	return n, err
}

// get returns what a URL has; done, if not nil, counts its bytes.
func get(
	ctx context.Context, client *http.Client, url string, most int64, done *tally,
) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	still := time.AfterFunc(standsStill, func() { cancel(errStandsStill) })
	defer still.Stop()
	content := io.LimitReader(moving{response.Body, still}, most+1)
	if done != nil {
		done.total.Store(max(0, response.ContentLength)) // -1: the server does not say
		content = io.TeeReader(content, done)
	}
	body, err := io.ReadAll(content)
	if err != nil && context.Cause(ctx) != nil {
		err = fmt.Errorf("%s: %w", url, context.Cause(ctx))
	}
	if err == nil && int64(len(body)) > most {
		err = fmt.Errorf("%s: more than %d bytes", url, most)
	}
	return body, err
}

// unpack writes the programs of an archive, and nothing else of it, into dir.
func unpack(packed io.Reader, dir string) error {
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	files := tar.NewReader(unzipped)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Base(header.Name)
		if header.Typeflag != tar.TypeReg || !slices.Contains(All, name) || header.Size > maxArchive {
			continue
		}
		if err := write(filepath.Join(dir, name), io.LimitReader(files, header.Size)); err != nil {
			return err
		}
	}
}

func write(name string, content io.Reader) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
