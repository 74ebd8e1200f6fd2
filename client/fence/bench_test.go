package fence

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
)

func nothing() error { return nil }

func BenchmarkDo(b *testing.B) {
	var g Gate
	for b.Loop() {
		if err := g.Do(7, nothing); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDoParallel(b *testing.B) {
	var g Gate
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := g.Do(7, nothing); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkStale(b *testing.B) {
	var g Gate
	_ = g.Admit(7)
	for b.Loop() {
		if g.Do(5, nothing) == nil {
			b.Fatal("admitted")
		}
	}
}

// A file gate pays for the disk when the epoch changes, and then only.
func BenchmarkFileSameEpoch(b *testing.B) {
	g := opened(b, filepath.Join(b.TempDir(), "epoch"))
	for b.Loop() {
		if err := g.Do(7, nothing); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFileNewEpoch(b *testing.B) {
	g := opened(b, filepath.Join(b.TempDir(), "epoch"))
	for b.Loop() {
		if err := g.Admit(g.Seen() + 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHandler(b *testing.B) {
	var g Gate
	h := &Handler{Gate: &g, Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })}
	for b.Loop() {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, put("x", "7")); w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}
