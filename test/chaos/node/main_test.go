package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

func say(t *testing.T, args ...string) (history.Signal, error) {
	t.Helper()
	var out bytes.Buffer
	c := newCommand(&out)
	c.SetArgs(args)
	c.SetErr(&bytes.Buffer{})
	if err := c.ExecuteContext(t.Context()); err != nil {
		return history.Signal{}, err
	}
	var s history.Signal
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &s); err != nil {
			t.Fatalf("%q: %v", out.String(), err)
		}
	}
	return s, nil
}

func TestClock(t *testing.T) {
	before := register.Now()
	if s, err := say(t, "clock"); err != nil || s.At < before || s.At > register.Now() {
		t.Errorf("%+v, %v", s, err)
	}
}

// A container that has ended cannot be struck, and that is said: nothing was tried.
func TestNoSuchContainer(t *testing.T) {
	if _, err := say(t, "strike", strings.Repeat("0123456789abcdef", 4)); !errors.Is(err, errEnded) {
		t.Error(err)
	}
}

// A log outlives its pod, also one that was rotated: the kubelet gives the old one another name and
// begins a new one.
func TestKeep(t *testing.T) {
	logs, kept := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	log := filepath.Join(logs, "ns_pod_uid", "agent", "0.log")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep := func() {
		t.Helper()
		if _, err := say(t, "keep", logs, kept); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	keep()
	keep() // again changes nothing
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	write("two")
	keep()
	if err := os.RemoveAll(filepath.Join(logs, "ns_pod_uid")); err != nil {
		t.Fatal(err)
	}
	keep()
	files, err := os.ReadDir(kept)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(kept, f.Name()))
		if err != nil || !strings.Contains(f.Name(), "ns_pod_uid+agent+0.log") {
			t.Errorf("%s: %v", f.Name(), err)
		}
		said[string(text)] = true
	}
	if !said["one"] || !said["two"] {
		t.Errorf("kept %v", said)
	}
}

// What a cut has dropped is what the counters of all its rules say, as nft prints them.
func TestDropped(t *testing.T) {
	const table = `table inet podesta_chaos_1 {
	chain pre {
		type filter hook prerouting priority -310; policy accept;
		ip saddr 10.244.1.2 ip daddr 10.244.2.3 counter packets 17 bytes 1020 drop
		ip saddr 10.244.2.3 ip daddr 10.244.1.2 counter packets 25 bytes 1500 drop
		ip saddr 10.244.2.3 ip daddr 10.244.1.9 counter packets 0 bytes 0 drop
	}
}`
	if n := dropped(table); n != 42 {
		t.Errorf("%d packets", n)
	}
}
