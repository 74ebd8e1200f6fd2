package flood

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// An Attack is what each stranger does with its connection: see Headers, Calls and Handshake.
type Attack struct {
	How    string // one of those three
	Bytes  int
	Secure bool   // Headers: over TLS
	Method string // Calls
	Calls  int    // Calls: at once
}

// use uses a connection until it is closed, or ctx ends. It calls sent when it has sent all that it
// can, or that the other end takes.
func (a Attack) use(ctx context.Context, conn net.Conn, sent func()) {
	switch a.How {
	case "headers":
		a.headers(conn, sent)
	case "calls":
		a.calls(ctx, conn, sent)
	case "handshake":
		a.handshake(ctx, conn, sent)
	default:
		panic("flood: no attack is called " + a.How)
	}
}

// linger waits until the other end closes the connection.
func linger(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// Headers sends so many bytes of a request's headers, and no end of them; over TLS if secure.
func Headers(bytes int, secure bool) Attack {
	return Attack{
		How:    "headers",
		Bytes:  bytes,
		Secure: secure,
	}
}

func (a Attack) headers(conn net.Conn, sent func()) {
	if a.Secure {
		//nolint:gosec // it is an attacker: whom it attacks does not matter to it
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
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

// Calls makes so many gRPC calls over TLS at once, without a certificate, each with a message of so
// many bytes that lacks its last one.
func Calls(method string, calls, bytes int) Attack {
	return Attack{
		How:    "calls",
		Method: method,
		Calls:  calls,
		Bytes:  bytes,
	}
}

func (a Attack) calls(ctx context.Context, conn net.Conn, sent func()) {
	dial := func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	transport := &http.Transport{
		DialContext:       dial,
		ForceAttemptHTTP2: true,
		//nolint:gosec // as above
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		MaxConnsPerHost: 1,
	}
	defer transport.CloseIdleConnections()
	var all sync.WaitGroup
	var unsent sync.WaitGroup
	for range a.Calls {
		unsent.Add(1)
		body := &unfinished{
			ctx:  ctx,
			left: 5 + a.Bytes - 1,
			size: a.Bytes,
			sent: sync.OnceFunc(unsent.Done),
		}
		all.Go(func() {
			defer body.sent()
			request, err := http.NewRequestWithContext(ctx, http.MethodPost,
				"https://flood"+a.Method, body)
			if err != nil {
				return
			}
			request.Header.Set("Content-Type", "application/grpc")
			request.Header.Set("Te", "trailers")
			if response, err := transport.RoundTrip(request); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		})
	}
	unsent.Wait()
	sent()
	all.Wait()
}

// unfinished is a gRPC message whose last byte does not come.
type unfinished struct {
	ctx        context.Context // it ends with the attack
	size, left int
	begun      bool
	sent       func()
}

func (u *unfinished) Read(p []byte) (int, error) {
	if u.left == 0 {
		u.sent()
		<-u.ctx.Done()
		return 0, io.ErrUnexpectedEOF
	}
	n := min(len(p), u.left)
	clear(p[:n])
	if !u.begun { // its length, after the flag that it is not compressed
		u.begun = true
		n = copy(p, binary.BigEndian.AppendUint32([]byte{0}, uint32(u.size))) //nolint:gosec // a few MiB
	}
	u.left -= n
	return n, nil
}

// Handshake shows a certificate of so many bytes, which nobody has signed, and keeps back the last
// of them: the handshake does not end.
func Handshake(bytes int) Attack { return Attack{How: "handshake", Bytes: bytes} }

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
		NextProtos:         []string{"h2"},
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
