package main

import (
	"fmt"
	"os"

	"github.com/prometheus/procfs"
)

// peakOf is the most memory, in bytes, that was resident of a process since resetPeak.
func peakOf(pid int) (uint64, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	status, err := process.NewStatus()
	return status.VmHWM, err
}

// resetPeak has peakOf begin anew.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200)
}
