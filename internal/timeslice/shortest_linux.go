package timeslice

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// shortest is the shortest slice that Linux grants; what is shorter counts as this one.
const shortest = 100 * time.Microsecond

// threads has an entry for each thread of this process, with its ID as name.
const threads = "/proc/self/task"

// Shortest asks for the shortest time slices for each thread of this process. A thread gets what
// the one that starts it has, so it is enough to ask once. Threads that another scheduler runs than
// the usual one, for real time for example, keep what they have. An error means that some threads
// keep the slices that they had: a sandbox may refuse the question, and an old kernel has others.
func Shortest() error {
	asked := map[int]bool{}
	for {
		all, err := threadsOf(threads)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(thread int) bool { return asked[thread] })
		if len(all) == 0 {
			return nil
		}
		for _, thread := range all { // one that was not asked yet may have started more
			asked[thread] = true
			if err := shorten(thread); err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
				return fmt.Errorf("ask for short time slices: %w", err)
			}
		}
	}
}

// threadsOf returns the IDs of the threads of a process.
func threadsOf(dir string) (all []int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the threads: %w", err)
	}
	for _, e := range entries {
		thread, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil, fmt.Errorf("%s/%s: the name is not the ID of a thread", dir, e.Name())
		}
		all = append(all, thread)
	}
	return all, nil
}

// shorten asks for the shortest slices for one thread, and changes nothing else of it.
func shorten(thread int) error {
	attr, err := unix.SchedGetAttr(thread, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL && attr.Policy != unix.SCHED_BATCH {
		return err
	}
	attr.Runtime = uint64(shortest)
	return unix.SchedSetAttr(thread, attr, 0)
}
