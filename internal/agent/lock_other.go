//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package agent

// lock does nothing where there is no flock, for development only: agents run on Linux.
func lock(string) (unlock func() error, err error) { return func() error { return nil }, nil }
