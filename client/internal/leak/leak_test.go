package leak

import (
	"strings"
	"testing"
)

// A goroutine that was left behind is seen, and one that ends is waited for.
func TestOthers(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	go straggler(begun, end)
	<-begun
	if left := others(); !strings.Contains(left, "leak.straggler") {
		t.Errorf("the goroutine is not seen among:\n%s", left)
	}
	close(end)
	for strings.Contains(others(), "leak.straggler") {
	}
}

func straggler(begun, end chan struct{}) {
	close(begun)
	<-end
}
