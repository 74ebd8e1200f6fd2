package agentserver

import (
	"encoding/base64"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/test/bubble"
)

// Joins yield to the manager's own writes when these pile up, to nothing else, and never altogether.
func TestJoinsYieldToWrites(t *testing.T) {
	const pods, patch = "/api/v1/pods", http.MethodPatch
	for name, c := range map[string]struct {
		method, path string
		underWay     int
		most         time.Duration // for so many requests
		least        time.Duration
	}{
		"no writes":      {patch, pods, 0, time.Second, 0},
		"a few writes":   {patch, pods, manyWrites - 1, time.Second, 0},
		"many writes":    {patch, pods, manyWrites, 8 * time.Second, 7 * time.Second},
		"many reads":     {http.MethodGet, pods, 2 * manyWrites, time.Second, 0},
		"reviews of its": {http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", 99, time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				writes := new(Writes)
				answer := make(chan struct{})
				api := writes.Watch(roundTripper(func(*http.Request) (*http.Response, error) {
					<-answer
					return new(http.Response), nil
				}))
				var underWay sync.WaitGroup
				for range c.underWay {
					underWay.Go(func() {
						request, err := http.NewRequestWithContext(t.Context(), c.method, c.path, nil)
						if err == nil {
							_, err = api.RoundTrip(request) //nolint:bodyclose // there is none
						}
						if err != nil {
							t.Error(err)
						}
					})
				}
				synctest.Wait()
				pace, begun := writes.Pace(), time.Now()
				wait := func(requests int) time.Duration {
					for range requests {
						if err := pace.Wait(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					return time.Since(begun)
				}
				if took := wait(requestsAtOnce + 400); took < c.least || took > c.most {
					t.Errorf("%d requests took %v", requestsAtOnce+400, took)
				}
				close(answer)
				underWay.Wait()
				begun = time.Now()
				if took := wait(requestsAtOnce + 400); took > 2*time.Second {
					t.Errorf("after the writes, as many took %v", took)
				}
			})
		})
	}
}

func TestWhatATokenClaims(t *testing.T) {
	of := func(claims string) string {
		return "header." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".signature"
	}
	for token, want := range map[string]string{
		of(`{"aud":["podesta.dev"],"sub":"system:serviceaccount:shop:default"}`): "shop",
		of(`{"sub":"somebody"}`): "",
		of(`{"sub":7}`):          "",
		of(`no claims`):          "",
		"header.!.signature":     "",
		"opaque":                 "",
		"":                       "",
	} {
		if got := new(Admission).Claims(token); got != want {
			t.Errorf("%q claims namespace %q, want %q", token, got, want)
		}
	}
}
