package durable_test

import (
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/durable"
)

// What a small file costs that is replaced, and one that is overwritten, on the disk that has
// TMPDIR.
func BenchmarkDisk(b *testing.B) {
	content := []byte(strings.Repeat("x", 400))
	s, err := durable.Open(durable.Directory(b.TempDir()), "lock", "a", "b")
	if err != nil {
		b.Fatal(err)
	}
	slots := s.Slots("b")
	for name, write := range map[string]func() error{
		"Store.Write": func() error { return s.Write("a", content) },
		"Slots.Write": func() error { return slots.Write(content) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := write(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
