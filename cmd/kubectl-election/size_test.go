package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLinksNoKindsThatItDoesNotRead: neither this package nor one that it imports links all kinds
// of Kubernetes. The program was 17 MB larger with them (docs/evidence/measurements.md).
func TestLinksNoKindsThatItDoesNotRead(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(out))
	if len(all) < 100 {
		t.Fatalf("only %d packages: %v", len(all), all)
	}
	for _, name := range all {
		if strings.HasPrefix(name, "sigs.k8s.io/controller-runtime") ||
			strings.HasPrefix(name, "k8s.io/client-go/kubernetes") {
			t.Errorf("it links %s", name)
		}
	}
}
