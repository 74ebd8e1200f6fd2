package main

import (
	"testing"

	"github.com/cockroachdb/datadriven"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestOperateGolden runs the command lines in testdata/operate: what forget and adopt show before
// they ask, what inject makes of a manifest, and version. -rewrite writes what they print.
func TestOperateGolden(t *testing.T) {
	in := around(fakeCluster(t, interceptor.Funcs{}, readGroupFiles(t)...))
	datadriven.Walk(t, "testdata/operate", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return golden(t, in, d.Input)
		})
	})
}
