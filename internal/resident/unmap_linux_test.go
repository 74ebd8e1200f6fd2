package resident

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podesta-dev/podesta/test/bubble"
)

// shown is what smaps says of a mapping, as far as it counts here.
func shown(first, anonymous, swap string) string {
	return fmt.Sprintf("%s\nSize:                 64 kB\nRss:                  64 kB\n"+
		"Anonymous:            %s kB\nSwap:                 %s kB\nVmFlags: rd mr mw me\n",
		first, anonymous, swap)
}

// What a program has changed of its pages would be lost.
func TestWhichPagesAreUnmapped(t *testing.T) {
	const text, data = "1000-2000 r-xp 00000000 fe:00 247530   ", "3000-4000 r--p 00003000 fe:00 247530   "
	code, constants := shown(text+"/agent", "0", "0"), shown(data+"/agent", "0", "0")
	unknown := text + "/agent\nSize:   64 kB\nAnonymous:   0 kB\nVmFlags: rd mr mw me\n"
	both := []mapping{{0x1000, 0x2000}, {0x3000, 0x4000}}
	for name, c := range map[string]struct {
		smaps string
		want  []mapping
	}{
		"code and constants":      {code + constants, both},
		"some were changed":       {code + shown(data+"/agent", "4", "0"), both[:1]},
		"some are swapped out":    {shown(text+"/agent", "0", "4") + constants, both[1:]},
		"unknown whether changed": {unknown + constants, both[1:]},
		"of another file":         {shown(text+"/lib", "0", "0") + constants, both[1:]},
		"of a file that is gone":  {shown(text+"/agent (deleted)", "0", "0"), nil},
		"of no file":              {shown(text, "0", "0"), nil},
		"that can be written":     {shown("1000-2000 rw-p 0 fe:00 1 /agent", "0", "0"), nil},
		"shared":                  {shown("1000-2000 r--s 0 fe:00 1 /agent", "0", "0"), nil},
		"not readable":            {"Size: nothing\n\nmore-than that r-xp a b /agent\n", nil},
		"cut off":                 {text + "/agent\n" + strings.Repeat("x", bufio.MaxScanTokenSize+1), nil},
	} {
		if got := unchanged(strings.NewReader(c.smaps), "/agent"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %x, want %x", name, got, c.want)
		}
	}
}

// A program whose pages are all mapped goes on with fewer.
func TestPagesAreUnmapped(t *testing.T) {
	of := pages(t)
	for _, m := range of {
		_, _, failed := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_POPULATE_READ)
		if failed == unix.EINVAL {
			t.Skip("Linux before 5.14")
		}
		if failed != 0 {
			t.Fatal(failed)
		}
	}
	before := resident(t, of)
	bubble.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), every+time.Second)
		defer stop()
		KeepSmall(ctx)
	})
	if after := resident(t, of); after > before*9/10 {
		t.Errorf("after a minute %d kB of the program are mapped, and %d were before", after, before)
	}
}

// pages are those of this program that can be unmapped.
func pages(t *testing.T) []mapping {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := unchanged(strings.NewReader(smaps(t)), program)
	if len(all) == 0 {
		t.Fatalf("nothing of %s can be unmapped:\n%s", program, smaps(t))
	}
	return all
}

func smaps(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("a kernel that does not say what is mapped: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// resident returns how much of some mappings is, in kB.
func resident(t *testing.T, of []mapping) (kB int) {
	t.Helper()
	var m mapping
	for line := range strings.Lines(smaps(t)) {
		var is int
		if n, _ := fmt.Sscanf(line, "%x-%x ", &m.from, &m.to); n == 2 {
			continue
		}
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &is); n == 1 && slices.Contains(of, m) {
			kB += is
		}
	}
	return kB
}
