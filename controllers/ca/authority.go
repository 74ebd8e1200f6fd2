package ca

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
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

const (
	// DefaultCheckEvery is how often the leading manager checks the CA's Secret.
	DefaultCheckEvery = 30 * time.Second
	// handedOutChecks is for how many checks this manager must have handed out a bundle before a
	// next authority in it may sign: five minutes, within which a kubelet updates what is mounted.
	handedOutChecks = 10
	// conflicts is how often a write of the Secret is tried again at once when somebody else
	// changed it.
	conflicts = 5
)

// Authorities keeps the CA in its Secret, and rotates it. The Secret is the truth: this is the copy
// in use. Only the manager that leads checks and writes it, and only on top of what it has read.
//
// A Secret that is deleted meanwhile is written anew with the CA in use, and the next one is
// prepared at once; without a CA in use (no manager ran) a new one is made. A Secret with another
// CA is taken over, and the one in use is trusted for a day more. A Secret that cannot be read is
// never overwritten.
type Authorities struct {
	Client    client.Client // for writes
	Live      client.Reader // asks the API server: no cache holds secrets
	Namespace string
	Now       func() time.Time
	// CheckEvery is how long there is from one check to the next.
	CheckEvery time.Duration
	// Distribute hands out another bundle of trusted authorities, PEM. Nothing is signed by an
	// authority that it brings before it has returned.
	Distribute func(bundlePEM []byte) error
	Logger     *slog.Logger

	held   atomic.Pointer[identity.Succession]
	bundle []byte    // that was distributed last
	since  time.Time // then
}

// ErrDamaged means that the CA's Secret holds something else. Only people mend that.
var ErrDamaged = errors.New("is damaged, and is left as it is")

var errNoAuthority = errors.New("no CA has been read yet")

// Sign certifies a process, as identity.Authority does. Any goroutine may call it.
func (a *Authorities) Sign(csrDER []byte, n identity.Name,
	now time.Time) (chainPEM []byte, err error) {
	held := a.held.Load()
	if held == nil {
		return nil, errNoAuthority
	}
	return held.Current().Sign(csrDER, n, now)
}

// Current returns the authority that signs; nil before the first check.
func (a *Authorities) Current() *identity.Authority {
	if held := a.held.Load(); held != nil {
		return held.Current()
	}
	return nil
}

// NotAfter returns when the authority that signs expires; zero before the first check.
func (a *Authorities) NotAfter() time.Time {
	if current := a.Current(); current != nil {
		return current.NotAfter()
	}
	return time.Time{}
}

// Check reads the Secret once and makes the steps of a rotation that are due. On an error
// everything stays as it was.
func (a *Authorities) Check(ctx context.Context) error {
	key := types.NamespacedName{Namespace: a.Namespace, Name: authoritySecret}
	for range conflicts {
		secret, found, err := readSecret(ctx, a.Live, key)
		if err != nil {
			return err
		}
		now, held := a.Now(), a.held.Load()
		wanted, steps, err := decide(found, held, now, a.handedOut(now))
		if err != nil {
			return err
		}
		if found == nil && held != nil {
			a.Logger.Warn(
				"the Secret of the CA was deleted: it is written anew, and the CA will be replaced")
		}
		err = a.write(ctx, secret, wanted)
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write the CA to Secret %s: %w", key, err)
		}
		for _, step := range steps {
			a.Logger.Info("the CA was changed", "step", string(step), "secret", key.String(),
				"validUntil", wanted.Current().NotAfter())
		}
		return a.adopt(wanted)
	}
	return fmt.Errorf("write the CA to Secret %s: it was changed by somebody else each time", key)
}

// readSecret returns the Secret and what it holds, or an empty one and nil if there is none.
func readSecret(ctx context.Context, live client.Reader,
	key types.NamespacedName) (*corev1.Secret, *identity.Succession, error) {
	secret := &corev1.Secret{}
	err := live.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
			Type:       corev1.SecretTypeTLS,
		}, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the CA from Secret %s: %w", key, err)
	}
	found, err := identity.ParseSuccession(secret.Data)
	if err != nil {
		return nil, nil, fmt.Errorf(
			"the CA in Secret %s %w: restore it from a backup, or "+
				"delete the Secret to have a new CA made (docs/reference/identity.md tells what "+
				"that does to agents): %w", key, ErrDamaged, err)
	}
	return secret, &found, nil
}

// decide returns what the Secret should hold, and which steps of a rotation that takes. Found is
// what it holds and held what this manager uses, nil if there is none; handedOut is whether this
// manager has handed out the bundle for long enough. A new authority has a new key; all else
// follows from the arguments.
func decide(
	found, held *identity.Succession, now time.Time, handedOut bool,
) (wanted identity.Succession, steps []identity.Step, err error) {
	switch {
	case found == nil && held == nil:
		wanted, err = identity.NewSuccession(now)
	case found == nil:
		wanted, err = held.Prepare(now)
	case held == nil:
		wanted = *found
	default:
		wanted = found.KeepCurrentOf(*held, now)
	}
	for err == nil {
		next, step, failed := wanted.Advance(now, handedOut)
		if failed != nil || step == "" {
			return wanted, steps, failed
		}
		wanted, steps = next, append(steps, step)
	}
	return wanted, nil, err
}

// handedOut reports whether this manager has handed out the bundle for long enough.
func (a *Authorities) handedOut(now time.Time) bool {
	return !a.since.IsZero() && now.Sub(a.since) >= handedOutChecks*a.CheckEvery
}

// write makes the Secret hold what is wanted: nothing is written if it does, and nothing if it has
// changed since it was read.
func (a *Authorities) write(ctx context.Context, secret *corev1.Secret,
	wanted identity.Succession) error {
	data, err := wanted.Data()
	if err != nil || maps.EqualFunc(data, secret.Data, bytes.Equal) {
		return err
	}
	secret.Data = data
	if secret.ResourceVersion == "" {
		return a.Client.Create(ctx, secret)
	}
	return a.Client.Update(ctx, secret)
}

// adopt puts a succession that is written into use, trust first.
func (a *Authorities) adopt(s identity.Succession) error {
	if bundle := s.Bundle(); !slices.Equal(bundle, a.bundle) {
		if err := a.Distribute(bundle); err != nil {
			return fmt.Errorf("distribute the bundle of CAs: %w", err)
		}
		a.bundle, a.since = bundle, a.Now()
	}
	a.held.Store(&s)
	return nil
}
