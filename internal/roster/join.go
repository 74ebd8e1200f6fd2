package roster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// mostUnanswered is after how many unanswered attempts the agent joins by token, in case the
// manager does not say that it refuses the certificate (an alert of TLS may be lost). It is not the
// first one, and none while all agents come back to another manager: a Join costs that and the API
// server far more than a subscription. A manager sends away those that are too many before it
// proves that it is one, so that is no reason to join, however often.
const mostUnanswered = 5

// needsCertificate reports whether the next attempt begins with a Join by token: there is no
// certificate that is valid now, it is refused, or too many attempts have had no answer.
func (c *Client) needsCertificate() bool {
	_, ok := c.Keyring.Name()
	if !ok || !c.Keyring.HasTrust() || !time.Now().Before(c.Keyring.NotAfter()) || c.refused {
		return true
	}
	return c.unanswered >= mostUnanswered && !c.reconnect.recovering(time.Now())
}

// failed takes note of a subscription to which the manager has sent nothing, and returns its error.
// The certificate is refused if the manager does not know it, or if we do not take what is there
// for the manager.
func (c *Client) failed(conn *connection, err error) error {
	c.refused = conn.unproved || codeOf(err) == rosterpb.Refusal_UNAUTHENTICATED
	if conn.proved {
		c.unanswered++
	}
	if conn.unproved {
		return &unprovedError{cause: err, until: c.pinned()}
	}
	return fmt.Errorf("follow the roster: %w", err)
}

// joinByToken gets a certificate for the pod that the token identifies. It presents no certificate,
// because the current one has expired or was refused.
//
// The manager proves itself by the bundle that is kept. A tenant may have forged the mounted one,
// so that is tried only where nothing is kept, or after the certificate that came with what is kept
// has ended, and never on the keyring of the links. That never keeps an agent from the true manager
// while its CA is rotated: a CA signs only when all certificates have ended that came without it.
// When the CA was lost, it does.
func (c *Client) joinByToken(ctx context.Context) error {
	c.unanswered, c.refused = 0, false // if it fails, the certificate is tried again
	if c.Keyring.HasTrust() {
		err := c.joinAt(ctx, c.Keyring.WithoutCertificate())
		unproved := (*unprovedError)(nil)
		if !errors.As(err, &unproved) {
			return err
		}
		if unproved.until = c.pinned(); time.Now().Before(unproved.until) {
			return err
		}
	}
	bundle, err := c.Trust()
	if err != nil {
		return &noTrustError{err}
	}
	blank := identity.NewKeyring(time.Now)
	if err := blank.SetTrust(bundle); err != nil {
		return fmt.Errorf("the mounted CA bundle: %w", err)
	}
	return c.joinAt(ctx, blank)
}

// pinned returns until when only the bundle that is kept proves a manager.
func (c *Client) pinned() time.Time {
	if end := c.Keyring.NotAfter(); end.After(c.Pinned) {
		return end
	}
	return c.Pinned
}

// joinAt joins by token at a manager that proves itself by what the keyring trusts.
func (c *Client) joinAt(ctx context.Context, by *identity.Keyring) error {
	token, err := c.Token()
	if err != nil {
		return fmt.Errorf("read the pod's token (the agent's container needs a projected "+
			"ServiceAccount token with audience podesta.dev): %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout) // after which a manager closes it
	defer cancel()
	conn, err := c.connect(ctx, by)
	if conn == nil {
		return err
	}
	defer conn.close()
	if err == nil {
		err = c.join(ctx, conn, token)
	}
	switch {
	case err != nil && conn.unproved:
		return &unprovedError{cause: err}
	case err != nil:
		return fmt.Errorf("join by token: %w", err)
	}
	return nil
}

// unprovedError means that what answers at the manager's address is not known to be the manager.
type unprovedError struct {
	cause error
	until time.Time // until then no other bundle counts; zero: no other was to be had
}

func (e *unprovedError) Error() string {
	what := "what answers at the manager's address does not prove itself to be the manager"
	if e.until.IsZero() {
		return fmt.Sprintf("%s: %v", what, e.cause)
	}
	return fmt.Sprintf("%s by the CA bundle that this agent keeps, and until %s no other "+
		"counts, also not the one mounted from the ConfigMap podesta-trust: somebody may pose as the "+
		"manager. If the CA was lost and made anew, delete the pod to have it join at once: %v", what,
		e.until.Format(time.RFC3339), e.cause)
}

func (e *unprovedError) Unwrap() error { return e.cause }

// joiner sends a Join over a connection, and returns the answer.
type joiner interface {
	join(ctx context.Context, r *rosterpb.JoinRequest) (*rosterpb.JoinResponse, error)
}

// join creates a new key, gets a certificate for it, and uses both after they are kept. With an
// empty token the connection's certificate identifies the pod, which renews it.
func (c *Client) join(ctx context.Context, at joiner, token string) error {
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
	granted, err := at.join(ctx, &rosterpb.JoinRequest{Token: token, Csr: request})
	if err == nil {
		err = refusalError(granted.GetRefused())
	}
	if err != nil {
		return movedError(err)
	}
	return c.adopt(granted.GetCertificate(), keyPEM, granted.GetTrust(), asked)
}

// adopt keeps credentials, then uses them; nil means unchanged. It tries them on a blank keyring
// first, so that it does not keep credentials that do not work.
func (c *Client) adopt(certPEM, keyPEM, trustPEM []byte, asked time.Duration) error {
	c.adopting.Lock()
	defer c.adopting.Unlock()
	if certPEM == nil && string(trustPEM) == c.bundle {
		return nil // every subscription starts with the bundle
	}
	trial := identity.NewKeyring(time.Now)
	if err := trial.SetTrust(trustPEM); err != nil {
		return fmt.Errorf("the manager sent an invalid CA bundle: %w", err)
	}
	if certPEM != nil {
		if err := trial.SetCertificate(certPEM, keyPEM); err != nil {
			return fmt.Errorf("the manager sent an invalid certificate: %w", err)
		}
		if err := c.sameGroup(trial); err != nil {
			return err
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

// sameGroup returns a *MovedError if new credentials are of another group than those in use: links
// and what the process has learnt are of that one.
func (c *Client) sameGroup(next *identity.Keyring) error {
	is, had := c.Keyring.Name()
	if name, _ := next.Name(); had && name.Group != is.Group {
		return &MovedError{fmt.Sprintf("its certificate is for group %q, and by its token it "+
			"belongs to %q", is.Group, name.Group)}
	}
	return nil
}
