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
			first, err := isFirst(id)
			if err != nil || first {
				if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
					return err
				}
				continue
			}
			all = false
			if err := unix.SchedSetAttr(id, &unix.SchedAttr{
				Size:     unix.SizeofSchedAttr,
				Policy:   unix.SCHED_FIFO,
				Priority: priority,
			}, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return nil
}

func isFirst(thread int) (bool, error) {
	attr, err := unix.SchedGetAttr(thread, 0)
	return err == nil && attr.Policy == unix.SCHED_FIFO, err
}
