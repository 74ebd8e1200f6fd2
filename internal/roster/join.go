package roster

import (
	"context"
	"fmt"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// joinByToken gets a certificate for the pod that the token identifies. It presents no certificate,
// because the current one has expired or was refused.
func (c *Client) joinByToken(ctx context.Context, bundle []byte) error {
	token, err := c.Token()
	if err != nil {
		return fmt.Errorf("read the pod's token (the agent's container needs a projected "+
			"ServiceAccount token with audience podesta.dev): %w", err)
	}
	blank := identity.NewKeyring(time.Now)
	if err := blank.SetTrust(bundle); err != nil {
		return fmt.Errorf("the mounted CA bundle: %w", err)
	}
	conn, _, err := c.connect(blank)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := c.join(ctx, rosterpb.NewRosterServiceClient(conn), token); err != nil {
		return fmt.Errorf("join by token: %w", err)
	}
	c.refused = false
	return nil
}

// join creates a new key, gets a certificate for it, and uses both after they are kept. With an
// empty token the connection's certificate identifies the pod, which renews it.
func (c *Client) join(ctx context.Context, manager rosterpb.RosterServiceClient,
	token string) error {
	key, err := identity.NewKey()
	if err != nil {
		return err
	}
	request, err := identity.Request(key)
	if err != nil {
		return err
	}
	keyPEM, err := identity.EncodeKey(key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	asked := c.Boot()
	granted, err := manager.Join(ctx, &rosterpb.JoinRequest{Token: token, Csr: request})
	if err != nil {
		return err
	}
	return c.adopt(granted.GetCertificate(), keyPEM, granted.GetTrust(), asked)
}

// adopt keeps credentials, then uses them; nil means unchanged. It tries them on a blank keyring
// first, so that it does not keep credentials that do not work.
func (c *Client) adopt(certPEM, keyPEM, trustPEM []byte, asked time.Duration) error {
	c.adopting.Lock()
	defer c.adopting.Unlock()
	if certPEM == nil && string(trustPEM) == c.bundle {
		return nil // every session starts with the bundle
	}
	trial := identity.NewKeyring(time.Now)
	if err := trial.SetTrust(trustPEM); err != nil {
		return fmt.Errorf("the manager sent an invalid CA bundle: %w", err)
	}
	if certPEM != nil {
		if err := trial.SetCertificate(certPEM, keyPEM); err != nil {
			return fmt.Errorf("the manager sent an invalid certificate: %w", err)
		}
	}
	if err := c.Keep(certPEM, keyPEM, trustPEM, asked); err != nil {
		return fmt.Errorf("write the new credentials to the state directory: %w", err)
	}
	if err := c.Keyring.SetTrust(trustPEM); err != nil {
		return err
	}
	c.bundle = string(trustPEM)
	if certPEM == nil {
		return nil
	}
	return c.Keyring.SetCertificate(certPEM, keyPEM)
}
