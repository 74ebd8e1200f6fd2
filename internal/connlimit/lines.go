package connlimit

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
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
	if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		l.refusePlain(plain)
	}
	if l.left -= bytes.Count(p[:n], []byte{'\n'}); l.left < 0 {
		return 0, errTooManyLines
	}
	return n, err
}

// refusePlain answers a request that came without TLS, as net/http does where it sees that a
// connection is one of TLS.
func (l *lined) refusePlain(plain tls.RecordHeaderError) {
	if plain.Conn == nil || !bytes.ContainsAny(plain.RecordHeader[:1], "GHPOD") { // GET, HEAD, POST, …
		return
	}
	_, _ = io.WriteString(plain.Conn, "HTTP/1.0 400 Bad Request\r\n\r\n"+
		"Client sent an HTTP request to an HTTPS server.\n")
}
