package connlimit

import (
	"bytes"
	"errors"
	"net"
)

// HeaderLines is how many lines a request may have. Those of scrapers and probes have some ten.
const HeaderLines = 100

var errTooManyLines = errors.New("the request has more lines than it may")

// Lines bounds how many lines a client may send on a connection of a listener. An HTTP server keeps
// the lines of a header until the last one has come, each for some 200 bytes, however short it is.
// A bound of bytes alone lets it keep 40 times as much.
func Lines(l net.Listener, most int) net.Listener { return lines{l, most} }

type lines struct {
	net.Listener
	most int
}

func (l lines) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lined{Conn: conn, left: l.most}, nil
}

// lined is a connection with such a bound. There is one reader at a time.
type lined struct {
	net.Conn
	left int
}

func (l *lined) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if l.left -= bytes.Count(p[:n], []byte{'\n'}); l.left < 0 {
		return 0, errTooManyLines
	}
	return n, err
}
