package door

import (
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/podesta-dev/podesta/internal/identity"
)

// Credentials are a server's credentials that tell its door who has come, when the handshake has
// accepted them.
func Credentials(c credentials.TransportCredentials) credentials.TransportCredentials {
	return proving{c}
}

type proving struct {
	credentials.TransportCredentials
}

// ServerHandshake is TLS's, and says at the door what it has found.
func (p proving) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := p.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	if v, ok := raw.(*visit); ok {
		if name, proved := nameOf(info); proved {
			v.prove(name.UID)
		}
	}
	return conn, info, nil
}

// Clone is a copy.
func (p proving) Clone() credentials.TransportCredentials {
	return proving{p.TransportCredentials.Clone()}
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
