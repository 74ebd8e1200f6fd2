package main

import "testing"

// A directory that the user names stays, with all that was in it before; a new one goes if all is well
// on the local cluster, and stays on kind.
func TestKeep(t *testing.T) {
	onKind := []string{"--kubeconfig", "k", "--manifest", "m"}
	local := []string{"--backend", "local"}
	for _, c := range []struct {
		args []string
		keep bool
		bad  bool
	}{
		{args: onKind, keep: true},
		{args: append(onKind, "--keep=false")},
		{args: local},
		{args: append(local, "--keep"), keep: true},
		{args: append(local, "--dir", "."), keep: true},
		{args: append(local, "--dir", ".", "--keep=false"), bad: true},
	} {
		o, err := parse(c.args)
		if (err != nil) != c.bad || err == nil && o.keep != c.keep {
			t.Errorf("%q: keep %t, %v", c.args, o.keep, err)
		}
	}
}
