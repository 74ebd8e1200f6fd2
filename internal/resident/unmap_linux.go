package resident

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// unmap unmaps the pages of the program that can be read from its file again. Where the kernel does
// not say which these are, all stay mapped.
func unmap() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close() //nolint:errcheck // it was only read
	for _, m := range unchanged(maps, program) {
		// an error means that they stay mapped
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// unchanged returns which mappings of /proc/PID/smaps show a file as it is: none of their pages can
// be written, and the kernel says of each of the mappings that none was before (by relocations, for
// example). So nothing is lost with them.
func unchanged(smaps io.Reader, file string) (all []mapping) {
	var m mapping
	unsaid := 0 // how many lines must say yet that nothing of m was changed; 0: m does not count
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) < 2:
		case !strings.HasSuffix(words[0], ":"):
			unsaid = 0
			_, err := fmt.Sscanf(words[0], "%x-%x", &m.from, &m.to)
			if err == nil && isOf(words, file) {
				unsaid = 2 // what is in memory, and what is swapped out
			}
		case unsaid > 0 && (words[0] == "Anonymous:" || words[0] == "Swap:") && words[1] == "0":
			if unsaid--; unsaid == 0 {
				all = append(all, m)
			}
		}
	}
	return all
}

// isOf reports whether the first line about a mapping says that it shows the file, and that it can
// be read only, or executed.
func isOf(words []string, file string) bool {
	const rights, path = 1, 5
	return len(words) > path && strings.Join(words[path:], " ") == file &&
		(words[rights] == "r--p" || words[rights] == "r-xp")
}
