package assets

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// releases is where Kubernetes publishes its programs. answering is how long it may take to send a
// program's checksum. Without a network, the build from modules begins after that time at most.
const (
	releases  = "https://dl.k8s.io/release"
	answering = 20 * time.Second
)

// download fetches a program into dir and compares it with its published SHA-256.
func download(ctx context.Context, from, dir, program string, done *tally) error {
	address := fmt.Sprintf("%s/%s/bin/linux/%s/%s", from, Kubernetes, runtime.GOARCH, program)
	var published bytes.Buffer
	if err := get(ctx, answering, address+".sha256", &published); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, program), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // the first Close says what failed
	sum := sha256.New()
	if err := get(ctx, fetching, address, io.MultiWriter(file, sum, done)); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != strings.TrimSpace(published.String()) {
		return fmt.Errorf("%s has the SHA-256 %s, published is %s: it was changed on the way", address,
			got, strings.TrimSpace(published.String()))
	}
	return file.Close()
}

// get copies what an address has.
func get(ctx context.Context, within time.Duration, address string, to io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: within}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, response.Status)
	}
	_, err = io.Copy(to, response.Body)
	return err
}
