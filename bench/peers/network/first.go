package network

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// priority goes before every usual thread, and behind those that watch whether the machine stands
// still.
const priority = 40

// goFirst has all threads of this program go before every usual one. A new thread is as the one
// that makes it, so it lists them until there is none left to ask for. (A thread that is made by a
// usual one while others have the priority would wait for a CPU, and Go's scheduler for it.)
func goFirst() error {
	for all := false; !all; {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		all = true
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil {
				return err
			}
			changed, err := putFirst(id)
			if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
				return err
			}
			all = all && !changed
		}
	}
	return nil
}

// putFirst has a thread go first, unless it does already.
func putFirst(thread int) (changed bool, err error) {
	attr, err := unix.SchedGetAttr(thread, 0)
	if err != nil || attr.Policy == unix.SCHED_FIFO {
		return false, err
	}
	return true, unix.SchedSetAttr(thread, &unix.SchedAttr{
		Size:     unix.SizeofSchedAttr,
		Policy:   unix.SCHED_FIFO,
		Priority: priority,
	}, 0)
}
