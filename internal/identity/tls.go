package identity

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync/atomic"
)

// The protocols that are spoken after the handshake (ALPN). Both ends must name the same one.
const (
	LinkProtocol   = "podesta-link/3"   // between agents
	RosterProtocol = "podesta-roster/1" // between an agent and the manager
)

// PeerServer configures the link server of an agent: the client must present a certificate of a
// trusted authority, and admit decides about its name. admit is called in each handshake,
// concurrently, and must not block.
func (k *Keyring) PeerServer(admit func(Name) error) *tls.Config {
	return k.server(LinkProtocol, tls.RequireAnyClientCert, func(state tls.ConnectionState) error {
		leaf, err := k.verify(state, x509.ExtKeyUsageClientAuth)
		if err != nil {
			return err
		}
		name, err := NameOf(leaf)
		if err != nil {
			return err
		}
		return admit(name)
	})
}

// PeerClient configures a link to another agent: the server must be exactly the expected process.
func (k *Keyring) PeerClient(expect Name) *tls.Config {
	return k.client(LinkProtocol, expect.String(), func(*tls.CertificateRequestInfo) (
		*tls.Certificate, error) {
		if own := k.current.Load().certificate; own != nil {
			return own, nil
		}
		return nil, errNoCertificate
	})
}

// RosterServer configures the manager's server. A client may present no certificate, because Join
// accepts a token instead. A certificate that it does present must be a process's, from a trusted
// authority.
func (k *Keyring) RosterServer() *tls.Config {
	return k.server(RosterProtocol, tls.RequestClientCert, func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return nil
		}
		leaf, err := k.verify(state, x509.ExtKeyUsageClientAuth)
		if err != nil {
			return err
		}
		_, err = NameOf(leaf)
		return err
	})
}

// RosterClient configures an agent's connection to the manager. It presents this process's
// certificate if the manager can accept it. It does not present an expired certificate, or one of
// an authority that the manager no longer knows, because that would block the only way to a new
// one, a Join by token.
func (k *Keyring) RosterClient() *tls.Config {
	return k.client(RosterProtocol, ManagerURI, func(request *tls.CertificateRequestInfo) (
		*tls.Certificate, error) {
		own := k.current.Load().certificate
		if own == nil || k.now().After(own.Leaf.NotAfter) ||
			request.SupportsCertificate(own) != nil {
			return &tls.Certificate{}, nil
		}
		return own, nil
	})
}

// server is the part that all servers share. The client is told the authorities that are trusted at
// that time; connections share a configuration as long as these are the same.
func (k *Keyring) server(protocol string, auth tls.ClientAuthType,
	verify func(tls.ConnectionState) error) *tls.Config {
	base := common(protocol, verify)
	base.ClientAuth = auth
	base.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if own := k.current.Load().certificate; own != nil {
			return own, nil
		}
		return nil, errNoCertificate
	}
	var latest atomic.Pointer[tls.Config]
	outer := base.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		roots := k.current.Load().roots
		if shared := latest.Load(); shared != nil && shared.ClientCAs == roots {
			return shared, nil
		}
		fresh := base.Clone()
		fresh.ClientCAs = roots
		latest.Store(fresh)
		return fresh, nil
	}
	return outer
}

// client is the part that all clients share. InsecureSkipVerify only disables the check of a host
// name. The check of the whole chain and of the URI replaces it.
func (k *Keyring) client(protocol, expect string, own func(*tls.CertificateRequestInfo) (
	*tls.Certificate, error)) *tls.Config {
	config := common(protocol, func(state tls.ConnectionState) error {
		leaf, err := k.verify(state, x509.ExtKeyUsageServerAuth)
		if err != nil {
			return err
		}
		uri, err := soleURI(leaf)
		if err != nil {
			return err
		}
		if uri.String() != expect {
			return fmt.Errorf("connected to %s instead of %s", uri, expect)
		}
		return nil
	})
	config.InsecureSkipVerify = true
	config.GetClientCertificate = own
	return config
}

// common refuses everything below TLS 1.3 and issues no session tickets, because a resumed session
// would rely on an earlier verification, perhaps of another identity. VerifyConnection runs in
// every handshake.
func common(protocol string, verify func(tls.ConnectionState) error) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{protocol},
		SessionTicketsDisabled: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if state.NegotiatedProtocol != protocol {
				return fmt.Errorf("speaks %q instead of %s", state.NegotiatedProtocol, protocol)
			}
			return verify(state)
		},
	}
}
