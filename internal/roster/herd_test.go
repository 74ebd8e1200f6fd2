package roster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
	"github.com/podesta-dev/podesta/test/bubble"
)

// reviewer is an Admission that admits a pod by a token "namespace/pod". It asks an API server
// twice, which answers so many requests a second.
type reviewer struct{ requests *rate.Limiter }

func (r reviewer) Admit(ctx context.Context, token string) (identity.Name, error) {
	namespace, pod, _ := strings.Cut(token, "/")
	for range 2 {
		if err := r.requests.Wait(ctx); err != nil {
			return identity.Name{}, err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return identity.Name{
		Namespace: namespace,
		Group:     "scheduler",
		Pod:       pod,
		UID:       token,
	}, nil
}

func (reviewer) Readmit(context.Context, identity.Name) error { return errors.New("not asked for") }
func (reviewer) Present(identity.Name) bool                   { return true }

func (reviewer) Claims(token string) string {
	namespace, _, _ := strings.Cut(token, "/")
	return namespace
}

// signer signs anything.
type signer struct{}

func (signer) Sign([]byte, identity.Name, time.Time) ([]byte, error) { return []byte("signed"), nil }

// from is a connection of which only the address counts.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(f.address), Port: 1}
}

// A herd is the pods of one tenant that all start at once, and that try again until they are in, as
// agents do. However slow the API server is, and wherever they run, they delay a single pod of
// another tenant by less than a second.
func TestAHerdDoesNotDelayAnothersPod(t *testing.T) {
	const herd = 2000
	for name, c := range map[string]struct {
		perSecond rate.Limit // requests to the API server
		of        func(int) (address, token string)
		single    string // its address
	}{
		"pods with addresses of their own": {
			50, func(i int) (string, string) {
				return fmt.Sprintf("10.1.%d.%d", i/200, i%200), fmt.Sprint("herd/", i)
			}, "10.2.0.1",
		},
		"a quick API server": {
			400, func(i int) (string, string) {
				return fmt.Sprintf("10.1.%d.%d", i/200, i%200), fmt.Sprint("herd/", i)
			}, "10.2.0.1",
		},
		"the address of a node that both share": {
			50, func(i int) (string, string) {
				return fmt.Sprintf("10.1.0.%d", i%20), fmt.Sprint("herd/", i)
			}, "10.1.0.7",
		},
		"an address that claims a namespace for each": {
			50, func(i int) (string, string) {
				return fmt.Sprintf("10.1.0.%d", i%4), fmt.Sprintf("herd-%d/0", i)
			}, "10.2.0.1",
		},
		"an address that claims to be the other tenant": {
			50, func(i int) (string, string) {
				return fmt.Sprintf("10.1.0.%d", i%4), fmt.Sprint("other/", i)
			}, "10.2.0.1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := NewServer(ServerConfig{
					Keyring:   identity.NewKeyring(time.Now),
					Authority: signer{},
					Admission: reviewer{rate.NewLimiter(c.perSecond, 100)},
					Sightings: NewSightings(time.Now),
					Now:       time.Now,
					Logger:    slog.New(slog.DiscardHandler),
				})
				join := func(address, token string) error {
					_, err := s.certify(t.Context(), &accepted{server: s, raw: from{address: address}},
						&rosterpb.JoinRequest{Token: token})
					return err
				}
				over := make(chan struct{})
				var pods sync.WaitGroup
				for i := range herd {
					pods.Go(func() {
						address, token := c.of(i)
						for join(address, token) != nil {
							select {
							case <-over:
								return
							case <-time.After(rand.N(maxBackoff)):
							}
						}
					})
				}
				for i := range 10 {
					synctest.Wait()
					begun := time.Now()
					err := join(c.single, fmt.Sprintf("other/single-%d", i))
					if took := time.Since(begun); err != nil || took > time.Second {
						t.Errorf("a single pod joined after %v: %v", took, err)
					}
					time.Sleep(500 * time.Millisecond)
				}
				close(over)
				pods.Wait()
			})
		})
	}
}

// The whole herd is in as soon as the API server allows it.
func TestAHerdJoinsAsFastAsTheAPIServerAllows(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		const herd, perSecond = 2000, 400
		s := NewServer(ServerConfig{
			Keyring:   identity.NewKeyring(time.Now),
			Authority: signer{},
			Admission: reviewer{rate.NewLimiter(perSecond, 100)},
			Sightings: NewSightings(time.Now),
			Now:       time.Now,
			Logger:    slog.New(slog.DiscardHandler),
		})
		begun := time.Now()
		in := make(chan struct{}, herd)
		for i := range herd {
			go func() {
				c := &accepted{server: s, raw: from{address: fmt.Sprintf("10.0.%d.%d", i/200, i%200)}}
				for failures := 1; ; failures++ {
					_, err := s.certify(t.Context(), c, &rosterpb.JoinRequest{Token: fmt.Sprint("herd/", i)})
					if err == nil {
						in <- struct{}{}
						return
					}
					if !errors.Is(err, connlimit.ErrBusy) {
						t.Error(err)
					}
					time.Sleep(rand.N(min(minBackoff<<failures, maxBackoff)))
				}
			}()
		}
		for range herd {
			<-in
		}
		// the last ones wait for their next attempt
		if took, most := time.Since(begun), 2*herd*time.Second/perSecond+maxBackoff; took > most {
			t.Errorf("all were in after %v, want %v at most", took, most)
		}
	})
}
