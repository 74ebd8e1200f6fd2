package identity

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Signature shows who made some bytes, the manager or a process, to whoever trusts the authority of
// its certificate and however the bytes came.
type Signature struct {
	Certificate []byte // of who signed, DER
	Value       []byte // ECDSA over the SHA-256 of purpose, a zero byte, and the bytes; ASN.1
}

// Sign signs as the manager. The purpose says what the bytes are, so that what was signed as one
// thing cannot be shown as another. It fails if this keyring does not hold the manager's
// certificate.
func (k *Keyring) Sign(purpose string, data []byte) (Signature, error) {
	own := k.current.Load().certificate
	if own == nil {
		return Signature{}, errNoCertificate
	}
	if err := isManager(own.Leaf); err != nil {
		return Signature{}, fmt.Errorf("only the manager signs: %w", err)
	}
	return sign(own, purpose, data)
}

// SignOwn signs as the process that this keyring's certificate names.
func (k *Keyring) SignOwn(purpose string, data []byte) (Signature, error) {
	own := k.current.Load().certificate
	if own == nil {
		return Signature{}, errNoCertificate
	}
	return sign(own, purpose, data)
}

func sign(own *tls.Certificate, purpose string, data []byte) (Signature, error) {
	key, ok := own.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return Signature{}, errors.New("our key is not an ECDSA key")
	}
	sum := digest(purpose, data)
	value, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		return Signature{}, fmt.Errorf("signing a %s: %w", purpose, err)
	}
	return Signature{Certificate: own.Leaf.Raw, Value: value}, nil
}

// Verify returns an error unless the manager signed these bytes for this purpose, by a certificate
// that a trusted authority issued and that is valid now.
func (k *Keyring) Verify(purpose string, data []byte, s Signature) error {
	return k.verifySignature(purpose, data, s, func(leaf *x509.Certificate) (time.Time, error) {
		if err := isManager(leaf); err != nil {
			return time.Time{}, fmt.Errorf("only the manager signs: %w", err)
		}
		return k.now(), nil
	})
}

// VerifyOwn returns an error unless the process that this keyring's certificate names signed these
// bytes for this purpose. The certificate that it used then may have expired since.
func (k *Keyring) VerifyOwn(purpose string, data []byte, s Signature) error {
	return k.verifySignature(purpose, data, s, func(leaf *x509.Certificate) (time.Time, error) {
		signer, err := NameOf(leaf)
		if own, ok := k.Name(); err != nil || !ok || signer != own {
			return time.Time{}, fmt.Errorf("only the process itself signs its %s", purpose)
		}
		return leaf.NotAfter, nil
	})
}

// verifySignature returns an error unless who accepts the signer's certificate, a trusted authority
// vouched for it at the time that who names, and its owner signed these bytes for this purpose.
func (k *Keyring) verifySignature(purpose string, data []byte, s Signature,
	who func(leaf *x509.Certificate) (at time.Time, err error)) error {
	roots := k.current.Load().roots
	if roots == nil {
		return errNoTrust
	}
	leaf, err := x509.ParseCertificate(s.Certificate)
	if err != nil {
		return fmt.Errorf("the signer's certificate: %w", err)
	}
	at, err := who(leaf)
	if err != nil {
		return err
	}
	_, err = leaf.Verify(x509.VerifyOptions{
		Roots:       roots,
		CurrentTime: at,
		KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return fmt.Errorf("the signer's certificate: %w", err)
	}
	key, ok := leaf.PublicKey.(*ecdsa.PublicKey)
	sum := digest(purpose, data)
	if !ok || !ecdsa.VerifyASN1(key, sum[:], s.Value) {
		return fmt.Errorf("the signature is not that of this %s", purpose)
	}
	return nil
}

// isManager returns an error that names whose certificate this is if it is not the manager's.
func isManager(leaf *x509.Certificate) error {
	uri, err := soleURI(leaf)
	if err != nil {
		return err
	}
	if uri.String() != ManagerURI {
		return fmt.Errorf("the certificate is that of %s", uri)
	}
	return nil
}

func digest(purpose string, data []byte) [sha256.Size]byte {
	return sha256.Sum256(append([]byte(purpose+"\x00"), data...))
}
