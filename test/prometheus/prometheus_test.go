package prometheus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/prometheus"
)

// A real Prometheus starts, scrapes itself, and ends; one with a wrong configuration does not, and
// says where to look.
func TestStart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := prometheus.Start(ctx, t.TempDir(), []byte("global: {scrape_interval: 1s}\n"), nil)
	if errors.Is(err, prometheus.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if two, err := s.Query(ctx, "vector(2)"); err != nil || len(two) != 1 || two[0].Value != 2 {
		t.Errorf("vector(2) is %+v, %v", two, err)
	}
	if _, err := s.Query(ctx, "vector("); err == nil || !strings.Contains(err.Error(), "parse error") {
		t.Errorf("a wrong query: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	folder := t.TempDir()
	if _, err := prometheus.Start(ctx, folder, []byte("nonsense: true\n"), nil); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("a wrong configuration: %v", err)
	}
}
