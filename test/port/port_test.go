package port

import (
	"io"
	"net"
	"testing"
)

// others is how many connections are opened, and how many ports asked for, to get a kept one by
// chance. Of 28,000 ports that a Linux gives away, that is half.
const others = 14000

// A program listens on a kept port, is restarted, and listens there again; whatever others open
// meanwhile, nobody else is given the port.
func TestAKeptPortIsGivenToNobody(t *testing.T) {
	kept := Of(t)
	for range 3 {
		program := listen(t, kept)
		from := dial(t, kept)
		closed(t, from)
		closed(t, program)
	}
	server := listen(t, "127.0.0.1:0")
	defer closed(t, server)
	for range others {
		connection := dial(t, server.Addr().String())
		if connection.LocalAddr().String() == kept {
			t.Fatal("a connection was given the port")
		}
		accepted, err := server.Accept()
		if err != nil {
			t.Fatal(err)
		}
		closed(t, accepted)
		closed(t, connection)
		other := listen(t, "127.0.0.1:0")
		if other.Addr().String() == kept {
			t.Fatal("who asked for any port was given it")
		}
		closed(t, other)
	}
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

func closed(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
