//go:build !linux

package resident

// unmap does nothing: agents run on Linux.
func unmap() {}
