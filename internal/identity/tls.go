package identity

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
)

// PeerServer is for the link server of an agent: the client must show a certificate of a trusted authority, and admit
// decides on its name. admit runs within each handshake, concurrently, and must not block.
func (k *Keyring) PeerServer(admit func(Name) error) *tls.Config {
	return k.server(tls.RequireAnyClientCert, func(state tls.ConnectionState) error {
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

// PeerClient is for a link to another agent: the server must be exactly the process that is expected.
func (k *Keyring) PeerClient(expect Name) *tls.Config {
	return k.client(expect.String(), func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if own := k.current.Load().certificate; own != nil {
			return own, nil
		}
		return nil, errNoCertificate
	})
}

// RosterServer is for the manager: a client may show no certificate (its Join brings a token instead), but if it shows one,
// that must be a process's, of a trusted authority.
func (k *Keyring) RosterServer() *tls.Config {
	return k.server(tls.RequestClientCert, func(state tls.ConnectionState) error {
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

// RosterClient is for the connection of an agent to the manager. It shows our certificate if there is one that the manager
// can accept. An expired one, or one of an authority that the manager no longer knows, is kept back: showing it would close
// the only way to a new one, a Join by token.
func (k *Keyring) RosterClient() *tls.Config {
	return k.client(ManagerURI, func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		own := k.current.Load().certificate
		if own == nil || k.now().After(own.Leaf.NotAfter) || request.SupportsCertificate(own) != nil {
			return &tls.Certificate{}, nil
		}
		return own, nil
	})
}

// server is what all servers have in common. The configuration is made anew at each handshake so that the authorities that
// the client is told of are the ones trusted then.
func (k *Keyring) server(auth tls.ClientAuthType, verify func(tls.ConnectionState) error) *tls.Config {
	base := common(verify)
	base.ClientAuth = auth
	base.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if own := k.current.Load().certificate; own != nil {
			return own, nil
		}
		return nil, errNoCertificate
	}
	outer := base.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		fresh := base.Clone()
		fresh.ClientCAs = k.current.Load().roots
		return fresh, nil
	}
	return outer
}

// client is what all clients have in common. What Go calls insecure is the check of a host name, which the check of the whole
// chain and of the URI replaces.
func (k *Keyring) client(expect string, own func(*tls.CertificateRequestInfo) (*tls.Certificate, error)) *tls.Config {
	config := common(func(state tls.ConnectionState) error {
		leaf, err := k.verify(state, x509.ExtKeyUsageServerAuth)
		if err != nil {
			return err
		}
		uri, err := soleURI(leaf)
		if err != nil {
			return err
		}
		if uri.String() != expect {
			return fmt.Errorf("the other end is %s, want %s", uri, expect)
		}
		return nil
	})
	config.InsecureSkipVerify = true
	config.GetClientCertificate = own
	return config
}

// common refuses everything below TLS 1.3 and issues no session tickets: a resumed session would live on what was verified
// once, perhaps for another identity. VerifyConnection runs in every handshake.
func common(verify func(tls.ConnectionState) error) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{"h2"},
		SessionTicketsDisabled: true,
		VerifyConnection:       verify,
	}
}
