package identity

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
)

// Signature shows that the manager made some bytes, to whoever trusts its authority and however the
// bytes came. It can be checked for as long as the certificate of the manager that made it is
// valid.
type Signature struct {
	Certificate []byte // the manager's, DER
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
	key, ok := own.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return Signature{}, errors.New("the manager's key is not an ECDSA key")
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
	roots := k.current.Load().roots
	if roots == nil {
		return errNoTrust
	}
	leaf, err := x509.ParseCertificate(s.Certificate)
	if err != nil {
		return fmt.Errorf("the signer's certificate: %w", err)
	}
	_, err = leaf.Verify(x509.VerifyOptions{
		Roots:       roots,
		CurrentTime: k.now(),
		KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return fmt.Errorf("the signer's certificate: %w", err)
	}
	if err := isManager(leaf); err != nil {
		return fmt.Errorf("only the manager signs: %w", err)
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
