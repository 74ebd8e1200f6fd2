package pathmtu

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Control is for net.Dialer and net.ListenConfig. If one end of a connection uses it, neither sends
// a segment of more than MSS bytes.
func Control(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = os.NewSyscallError("setsockopt",
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, MSS))
	})
	return errors.Join(err, failed)
}
