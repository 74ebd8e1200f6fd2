package agentserver

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/podesta-dev/podesta/controllers/ca"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/test/bubble"
)

// withSecret is an API server that keeps one Secret.
func withSecret() client.WithWatch {
	var kept *corev1.Secret
	return interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object,
			_ ...client.GetOption) error {
			if kept == nil {
				return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
			}
			kept.DeepCopyInto(object.(*corev1.Secret))
			return nil
		},
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			kept = object.(*corev1.Secret).DeepCopy()
			return nil
		},
	})
}

// The manager directs agents to itself again and again, whatever becomes of one attempt: a manager
// that led for a moment may have directed them elsewhere, and nobody else would put that right.
func TestAgentsAreDirectedAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		secrets, keyring, led := withSecret(), identity.NewKeyring(time.Now), 0
		s := &Server{
			CA: &ca.Authorities{
				Client:     secrets,
				Live:       secrets,
				Namespace:  "podesta-system",
				Now:        time.Now,
				CheckEvery: ca.DefaultCheckEvery,
				Distribute: keyring.SetTrust,
				Logger:     slog.New(slog.DiscardHandler),
			},
			Keyring: keyring,
			Lead: func(context.Context) error {
				led++
				return errors.New("the API server is away")
			},
			Logger: slog.New(slog.DiscardHandler),
		}
		if err := s.CA.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.renew(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*ca.DefaultCheckEvery+time.Second)
		defer cancel()
		s.maintain(ctx)
		if led != 3 {
			t.Errorf("three checks directed agents %d times", led)
		}
	})
}
