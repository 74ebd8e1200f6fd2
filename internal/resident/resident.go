// Package resident keeps the resident memory of a program small that is started once and then does
// little: an agent, of which there is one in each pod.
//
// Of the program's own pages the kernel maps 16 for each that is touched, and those of the start
// stay mapped for good. So an agent that uses 5 to 7 MB of itself has all of its 10 MB resident.
// [KeepSmall] unmaps them now and then. They stay in the page cache, which the agents of a node
// share, and what is used is mapped again without reading the disk, as long as it is there.
//
// What is not promised: that less is charged to the container. Pages of the program are charged to
// whichever container of the node used them first, mapped or not. Nor that they stay in memory:
// where it is short, the kernel evicts what nobody has used for long.
package resident

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

// every is how often the program's pages are unmapped. Reading which there are, and mapping what is
// used, takes less than a millisecond.
const every = time.Minute

// garbage is how much garbage there may be, in percent of what is in use, before it is collected.
// With Go's default, 100, nothing is collected before the heap has 4 MiB. An agent uses one or two.
const garbage = 50

// CollectOften has garbage collected twice as often as Go does, unless GOGC says otherwise.
func CollectOften() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}

// KeepSmall unmaps the program's pages once a minute, until ctx ends. Those that are in use are
// mapped again at once.
func KeepSmall(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			unmap()
		}
	}
}
