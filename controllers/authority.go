package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podesta-dev/podesta/internal/identity"
)

// authoritySecret holds the CA, in the manager's namespace.
const authoritySecret = "podesta-ca"

// LoadAuthority reads the CA from its Secret, and makes it if there is none. It is only ever created, never overwritten: of
// two managers that start at once one creates it and both use that one. The client must not be one that reads from a cache.
func LoadAuthority(ctx context.Context, c client.Client, namespace string, now time.Time) (*identity.Authority, error) {
	key := types.NamespacedName{Namespace: namespace, Name: authoritySecret}
	secret := &corev1.Secret{}
	err := c.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		secret, err = createAuthority(ctx, c, key, now)
	}
	if err != nil {
		return nil, fmt.Errorf("read the CA from Secret %s: %w", key, err)
	}
	authority, err := identity.ParseAuthority(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("the CA in Secret %s does not serve (delete it to have a new one made; all agents then join anew): %w",
			key, err)
	}
	return authority, nil
}

func createAuthority(ctx context.Context, c client.Client, key types.NamespacedName, now time.Time) (*corev1.Secret,
	error) {
	authority, err := identity.NewAuthority(now)
	if err != nil {
		return nil, err
	}
	certPEM, keyPEM, err := authority.PEM()
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: certPEM, corev1.TLSPrivateKeyKey: keyPEM},
	}
	err = c.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		secret = &corev1.Secret{}
		err = c.Get(ctx, key, secret)
	}
	return secret, err
}
