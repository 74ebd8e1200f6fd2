package flood

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"sync"
	"time"
)

var (
	chained sync.Mutex
	made    = map[int]tls.Certificate{}
)

// chains returns a certificate, and after it authorities that all have the name of the one that has
// signed it, and other keys; so many bytes in all. It is made once.
func chains(bytes int) tls.Certificate {
	chained.Lock()
	defer chained.Unlock()
	shown, ok := made[bytes]
	for length := 0; !ok && length < bytes; {
		authority, key := forged(len(shown.Certificate) > 0)
		if shown.PrivateKey == nil {
			shown.PrivateKey = key
		}
		shown.Certificate = append(shown.Certificate, authority)
		length += len(authority)
	}
	made[bytes] = shown
	return shown
}

// forged returns a certificate with a new key, signed by that.
func forged(authority bool) ([]byte, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "x"},
		NotAfter:              time.Now().Add(time.Hour),
		BasicConstraintsValid: true,
		IsCA:                  authority,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return der, key
}
