package agentserver

import (
	"context"
	"errors"
	"log/slog"
	"strings"
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

// serving is a server, but for its listener.
func serving(secrets client.WithWatch, lead func(context.Context) error) *Server {
	keyring := identity.NewKeyring(time.Now)
	return &Server{
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
		Lead:    lead,
		Logger:  slog.New(slog.DiscardHandler),
	}
}

// The manager directs agents to itself again and again, whatever becomes of one attempt: a manager
// that led for a moment may have directed them elsewhere, and nobody else would put that right. What
// has failed it tries again at once: no agent finds it meanwhile.
func TestAgentsAreDirectedAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		span time.Duration
		want int
	}{
		{"three checks", nil, 3*ca.DefaultCheckEvery + time.Second, 4},
		{"the API server refuses", errors.New("a webhook is down"), 3*again + again/2, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				led := 0
				s := serving(withSecret(), func(context.Context) error { led++; return c.err })
				if err := s.begin(t.Context()); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), c.span)
				defer cancel()
				if s.maintain(ctx); led != c.want {
					t.Errorf("agents were directed %d times, want %d", led, c.want)
				}
			})
		})
	}
}

// A moment of trouble does not end a manager that begins to lead: the other one would have the same.
// What lasts does, with the reason.
func TestAMomentOfTroubleAtTheBeginning(t *testing.T) {
	for _, fails := range []int{3, 1000} {
		bubble.Test(t, func(t *testing.T) {
			read := 0
			secrets := interceptor.NewClient(withSecret(), interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
					options ...client.GetOption) error {
					if read++; read <= fails {
						return apierrors.NewInternalError(errors.New("etcd is away"))
					}
					return c.Get(ctx, key, object, options...)
				},
			})
			s, begun := serving(secrets, nil), time.Now()
			err := s.begin(t.Context())
			switch took := time.Since(begun); {
			case fails == 3 && (err != nil || took != 3*again):
				t.Errorf("after %v: %v", took, err)
			case fails > 3 && (err == nil || !strings.Contains(err.Error(), "etcd is away") || took > patience+again):
				t.Errorf("it lasts: after %v: %v", took, err)
			}
		})
	}
}

// A CA that is damaged stays so: the manager ends at once, and says why.
func TestADamagedCAEndsTheManager(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		secrets := interceptor.NewClient(withSecret(), interceptor.Funcs{
			Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, object client.Object,
				_ ...client.GetOption) error {
				object.(*corev1.Secret).Data = map[string][]byte{"tls.key": []byte("rubbish")}
				return nil
			},
		})
		begun := time.Now()
		err := serving(secrets, nil).begin(t.Context())
		if !errors.Is(err, ca.ErrDamaged) || time.Since(begun) > 0 {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}
