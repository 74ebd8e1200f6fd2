// Package flood attacks a port as strangers do who want to fill the memory of the process behind
// it: many connections from several addresses of this machine, each of which sends as much as it is
// let, ends nothing that it has begun, and comes back when it is closed.
package flood

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// An Attack uses a connection until it is closed, or ctx ends. It calls sent when it has sent all
// that it can, or that the other end takes.
type Attack func(ctx context.Context, conn net.Conn, sent func())

// pause is the time from the end of a connection to the next attempt. It spares this machine.
const pause = 5 * time.Second

// Begin has each of so many strangers keep a connection to an address, from 127.0.0.2 and the
// addresses after it in turn. It returns when each has sent once what it can, or was refused; they
// go on until the test ends.
func Begin(t *testing.T, address string, addresses, strangers int, attack Attack) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var running, first sync.WaitGroup
	t.Cleanup(func() { stop(); running.Wait() })
	for i := range strangers {
		own := net.IPv4(127, 0, 0, byte(2+i%addresses)) //nolint:gosec // a few addresses
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: own}}
		first.Add(1)
		once := sync.OnceFunc(first.Done)
		running.Go(func() {
			for ctx.Err() == nil {
				if conn, err := from.DialContext(ctx, "tcp", address); err == nil {
					end := context.AfterFunc(ctx, func() { _ = conn.Close() })
					attack(ctx, conn, once)
					end()
					_ = conn.Close()
				}
				once()
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		})
	}
	first.Wait()
}

// stall waits until the other end closes the connection.
func stall(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// Headers sends so many bytes of a request's headers, and no end of them; over TLS if secure.
func Headers(bytes int, secure bool) Attack {
	return func(_ context.Context, conn net.Conn, sent func()) {
		if secure {
			//nolint:gosec // it is an attacker: whom it attacks does not matter to it
			conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
		}
		_, err := fmt.Fprintf(conn, "GET /metrics HTTP/1.1\r\nHost: flood\r\n")
		// many lines a write: over TLS each write is a record, which costs the attacker more than its
		// victim, and both share this machine
		lines := strings.Repeat("X-Flood: "+strings.Repeat("f", 1000)+"\r\n", 16)
		for written := 0; err == nil && written < bytes; written += len(lines) {
			_, err = io.WriteString(conn, lines)
		}
		sent()
		stall(conn)
	}
}

// Calls makes so many gRPC calls over TLS at once, without a certificate, each with a message of so
// many bytes that lacks its last one.
func Calls(method string, calls, bytes int) Attack {
	return func(ctx context.Context, conn net.Conn, sent func()) {
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
		for range calls {
			unsent.Add(1)
			body := &unfinished{ctx: ctx, left: 5 + bytes - 1, size: bytes,
				sent: sync.OnceFunc(unsent.Done)}
			all.Go(func() {
				defer body.sent()
				request, err := http.NewRequestWithContext(ctx, http.MethodPost,
					"https://flood"+method, body)
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
func Handshake(bytes int) Attack {
	return func(ctx context.Context, conn net.Conn, sent func()) {
		short := &cut{Conn: conn, left: bytes, ctx: ctx, sent: sent}
		//nolint:gosec // as above
		client := tls.Client(short, &tls.Config{
			InsecureSkipVerify: true,
			NextProtos:         []string{"h2"},
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				return &tls.Certificate{
					Certificate: [][]byte{make([]byte, bytes)},
					PrivateKey:  noKey{},
				}, nil
			},
		})
		_ = client.HandshakeContext(ctx)
		sent()
		stall(conn)
	}
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
	stall(c.Conn)
	return 0, io.ErrClosedPipe
}

// PeakMemory returns the most memory that was ever resident of a process, in bytes.
func PeakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatalf("process %d shows no VmHWM:\n%s", pid, content)
	return 0
}
