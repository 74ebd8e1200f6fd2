package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The agent puts the lead of its image into a directory, also when the one of an earlier start is
// there.
func TestInstallLead(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	beside, to := filepath.Join(filepath.Dir(self), "lead"), t.TempDir()
	if err := installLead(to); err == nil || !strings.Contains(err.Error(), "this image has no lead") {
		t.Fatalf("no lead lies beside the agent: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(beside) })
	for _, content := range []string{"first", "second"} {
		if err := os.WriteFile(beside, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := installLead(to); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(to, "lead"))
		info, errInfo := os.Stat(filepath.Join(to, "lead"))
		if err != nil || errInfo != nil || string(got) != content || info.Mode().Perm()&0o555 != 0o555 {
			t.Errorf("%s: %s, %v, %v, %v", content, got, err, info, errInfo)
		}
	}
	if err := installLead(filepath.Join(to, "nowhere")); err == nil {
		t.Error("it is put where nothing is")
	}
}
