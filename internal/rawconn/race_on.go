//go:build linux && race

package rawconn

import (
	"runtime"
	"unsafe"
)

// The race detector does not see raw system calls. It is told of them what package syscall tells it
// of others: what is written before a message is sent is seen by whoever receives it.

var order byte

func begins(writes bool) {
	if writes {
		runtime.RaceReleaseMerge(unsafe.Pointer(&order))
	}
}

func ended(writes bool, b []byte) {
	if len(b) > 0 && writes {
		runtime.RaceReadRange(unsafe.Pointer(&b[0]), len(b))
	}
	if len(b) > 0 && !writes {
		runtime.RaceWriteRange(unsafe.Pointer(&b[0]), len(b))
	}
	if !writes {
		runtime.RaceAcquire(unsafe.Pointer(&order))
	}
}
