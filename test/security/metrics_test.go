package security

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/test/envtest"
)

// metricsPort serves something with the certificate that a manager keeps for its metrics.
func metricsPort(t *testing.T, m *envtest.Manager) string {
	t.Helper()
	port := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	config := &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: m.MetricsCertificate}
	port.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail
	port.Listener = tls.NewListener(port.Listener, config)
	port.Start()
	t.Cleanup(port.Close)
	return "https://" + port.Listener.Addr().String()
}

// scrape asks for metrics as the ServiceMonitor has it: by a bundle and a name.
func scrape(t *testing.T, url, name string, bundle []byte) (*x509.Certificate, error) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: name}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	must(t, response.Body.Close())
	return response.TLS.PeerCertificates[0], nil
}

func metricsName(system string) string { return "podesta-metrics." + system + ".svc" }

// distributed waits until the bundle in a namespace has so many CAs, and returns it.
func distributed(t *testing.T, namespace string, authorities int) (bundle []byte) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d CAs in the bundle in %s", authorities, namespace), func() bool {
		var err error
		bundle, err = server.MountedTrust(namespace)
		return err == nil && bytes.Count(bundle, []byte("BEGIN")) == authorities
	})
	return bundle
}

// TestMetricsAreVerified: a scraper that knows the bundle of the manager's namespace verifies the
// manager that leads and the one that does not, before, while and after the next CA takes over, and
// when the other one leads. Nothing else is taken for them.
func TestMetricsAreVerified(t *testing.T) {
	system := newSystem(t)
	name := metricsName(system)
	first := startManager(t, system, "")
	bundle := distributed(t, system, 1) // it leads
	second := startManager(t, system, "")
	ports := []string{metricsPort(t, first), metricsPort(t, second)}
	before := map[string]*x509.Certificate{}
	for _, port := range ports {
		eventually(t, "a certificate", func() bool {
			var err error
			before[port], err = scrape(t, port, name, bundle)
			return err == nil
		})
	}
	refused(t, ports, name, bundle)

	old, err := identity.ParseSuccession(secretIn(t, system).Data)
	must(t, err)
	prepared, err := old.Prepare(time.Now().Add(-2 * identity.SpreadFor))
	must(t, err)
	putAuthority(t, system, prepared)
	bundle = distributed(t, system, 2) // a scraper need not read it again before the old CA is dropped
	data, err := prepared.Data()
	must(t, err)
	next := parse(t, data["next.crt"])
	for _, port := range ports {
		eventually(t, "the next CA to have signed", func() bool {
			for _, each := range ports {
				if _, err := scrape(t, each, name, bundle); err != nil {
					t.Fatalf("while the CA is rotated: %v", err)
				}
			}
			leaf, err := scrape(t, port, name, bundle)
			must(t, err)
			return leaf.CheckSignatureFrom(next) == nil && !leaf.Equal(before[port])
		})
	}

	first.Stop()
	distributed(t, newNamespace(t), 2) // the second leads
	third := metricsPort(t, startManager(t, system, ""))
	for _, port := range []string{ports[1], third} {
		eventually(t, "a certificate after the failover", func() bool {
			_, err := scrape(t, port, name, bundle)
			return err == nil
		})
	}
}

// refused fails unless the managers are refused by whoever expects another name, or knows another
// CA.
func refused(t *testing.T, ports []string, name string, bundle []byte) {
	t.Helper()
	foreign, err := identity.NewSuccession(time.Now())
	must(t, err)
	for _, port := range ports {
		for _, other := range []string{"podesta-roster" + strings.TrimPrefix(name, "podesta-metrics"), "podesta-metrics.shop.svc"} {
			_, err := scrape(t, port, other, bundle)
			if _, ok := errors.AsType[x509.HostnameError](err); !ok {
				t.Errorf("%s is taken for %s: %v", name, other, err)
			}
		}
		_, err := scrape(t, port, name, foreign.Bundle())
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); !ok {
			t.Errorf("whoever knows another CA: %v", err)
		}
	}
}

// TestMetricsBeforeThereIsACA: a manager that does not lead makes no CA, and until another one has,
// its metrics cannot be asked for.
func TestMetricsBeforeThereIsACA(t *testing.T) {
	system := newSystem(t)
	now := metav1.NowMicro()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "podesta-manager"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("another"), LeaseDurationSeconds: new(int32(3600)), AcquireTime: &now, RenewTime: &now}}
	must(t, kube.Create(bg, lease))
	var looks atomic.Int32
	m := server.StartManager(t, envtest.ManagerOptions{
		Namespace: system,
		Wrap: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				response, err := next.RoundTrip(r)
				if strings.HasSuffix(r.URL.Path, "/secrets/podesta-ca") {
					looks.Add(1)
				}
				return response, err
			})
		},
		Edit: []func(*controllers.Options){func(o *controllers.Options) { o.CheckCAEvery = checkEvery }},
	})
	port := metricsPort(t, m)
	eventually(t, "the manager to have looked for a CA", func() bool { return looks.Load() >= 3 })
	if _, err := scrape(t, port, metricsName(system), nil); err == nil || !strings.Contains(err.Error(), "remote error: tls: internal error") {
		t.Errorf("without a CA: %v", err)
	}
	secret := &corev1.Secret{}
	if err := kube.Get(bg, client.ObjectKey{Namespace: system, Name: "podesta-ca"}, secret); !apierrors.IsNotFound(err) {
		t.Fatalf("the Secret of the CA: %v; want none", err)
	}
	must(t, kube.Delete(bg, lease)) // from now on it leads
	bundle := distributed(t, system, 1)
	eventually(t, "a certificate", func() bool {
		_, err := scrape(t, port, metricsName(system), bundle)
		return err == nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTheManagersNamespaceIsDeleted: what is kept in it does not hold that up, nor does it hold up
// the manager while it still runs.
func TestTheManagersNamespaceIsDeleted(t *testing.T) {
	system := newSystem(t)
	m := startManager(t, system, "")
	distributed(t, system, 1)
	must(t, kube.Delete(bg, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}})) // it stays: nothing empties it here
	eventually(t, "nothing to be created any more", func() bool {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "probe"}}
		return apierrors.HasStatusCause(kube.Create(bg, probe, client.DryRunAll), corev1.NamespaceTerminatingCause)
	})
	trust := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: v1.TrustConfigMap}}
	must(t, kube.Delete(bg, trust))
	distributed(t, newNamespace(t), 1)
	if err := kube.Get(bg, client.ObjectKeyFromObject(trust), trust); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap: %v; want it gone", err)
	}
	select {
	case <-m.Ended:
		t.Errorf("the manager has ended: %v", m.Err)
	default:
	}
}

// parse reads a certificate.
func parse(t *testing.T, certPEM []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(certPEM)
	certificate, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	return certificate
}
