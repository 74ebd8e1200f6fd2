package connlimit

import (
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/podesta-dev/podesta/internal/identity"
)

// Credentials are a server's credentials that tell its Listener whose connection it is, when the
// handshake has accepted it.
func Credentials(c credentials.TransportCredentials) credentials.TransportCredentials {
	return authenticating{c}
}

type authenticating struct {
	credentials.TransportCredentials
}

// ServerHandshake is TLS's, and tells the Listener what it has found.
func (p authenticating) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := p.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	if c, ok := raw.(*connection); ok {
		if name, proved := nameOf(info); proved {
			c.authenticate(name.UID)
		}
	}
	return conn, info, nil
}

// Clone is a copy.
func (p authenticating) Clone() credentials.TransportCredentials {
	return authenticating{p.TransportCredentials.Clone()}
}

// nameOf is whom the certificate of a connection names, if one was shown. The handshake has
// verified it.
func nameOf(info credentials.AuthInfo) (identity.Name, bool) {
	shown, ok := info.(credentials.TLSInfo)
	if !ok || len(shown.State.PeerCertificates) == 0 {
		return identity.Name{}, false
	}
	name, err := identity.NameOf(shown.State.PeerCertificates[0])
	return name, err == nil
}
