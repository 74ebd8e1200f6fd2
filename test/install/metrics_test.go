package install

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// endpoint is what the ServiceMonitor says of how to verify the manager.
type endpoint struct {
	configMap, key string // the CAs
	serverName     string
	insecure       bool
}

// endpointOf reads the ServiceMonitor of some objects.
func endpointOf(t *testing.T, all objects) endpoint {
	t.Helper()
	endpoints, _, err := unstructured.NestedSlice(all[key("ServiceMonitor", "podesta-manager")].Object, "spec", "endpoints")
	must(t, err)
	if len(endpoints) != 1 {
		t.Fatalf("it has %d endpoints", len(endpoints))
	}
	first, ok := endpoints[0].(map[string]any)
	if !ok {
		t.Fatalf("the endpoint is %v", endpoints[0])
	}
	var e endpoint
	for path, into := range map[string]*string{"name": &e.configMap, "key": &e.key} {
		*into, _, err = unstructured.NestedString(first, "tlsConfig", "ca", "configMap", path)
		must(t, err)
	}
	e.serverName, _, err = unstructured.NestedString(first, "tlsConfig", "serverName")
	must(t, err)
	e.insecure, _, err = unstructured.NestedBool(first, "tlsConfig", "insecureSkipVerify")
	must(t, err)
	return e
}

// monitored is what the ServiceMonitor of config/ says.
func monitored(t *testing.T) endpoint {
	t.Helper()
	rendered, err := tool("kustomize", "build", filepath.Join(root, "config", "prometheus"))
	must(t, err)
	return endpointOf(t, parse(t, rendered))
}

// config is how Prometheus verifies managers for it, by what the ConfigMap in their namespace says
// now.
func (e endpoint) config(ctx context.Context, t *testing.T) *tls.Config {
	t.Helper()
	bundle := &corev1.ConfigMap{}
	must(t, client.IgnoreNotFound(kube.Get(ctx, client.ObjectKey{Namespace: system, Name: e.configMap}, bundle)))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(bundle.Data[e.key]))
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: e.serverName}
}

// maySeeMetrics binds an account to the role that scrapers have.
func maySeeMetrics(t *testing.T, who *corev1.ServiceAccount) {
	t.Helper()
	gives := authorizationv1.SubjectAccessReviewSpec{
		User:                  "system:serviceaccount:" + who.Namespace + ":" + who.Name,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/metrics"},
	}
	bind(t, gives, "clusterrolebinding", who.Namespace, "--clusterrole=podesta-metrics-reader",
		"--serviceaccount="+who.Namespace+":"+who.Name)
}

// checkMetrics asks managers for metrics as Prometheus does: as nobody, as somebody, and as
// somebody who may get them.
func checkMetrics(t *testing.T, managers ...*managerProcess) {
	t.Helper()
	reader, stranger := newAccount(t), newAccount(t)
	maySeeMetrics(t, reader)
	e := monitored(t)
	for _, m := range managers {
		m.await(t, "a certificate for metrics", func(ctx context.Context) bool {
			_, err := get(ctx, e.config(ctx, t), "https://"+m.metrics+"/metrics", "")
			return err == nil
		})
		config := e.config(t.Context(), t)
		for _, test := range []struct {
			scheme, token string
			want          int
		}{
			{"https", "", http.StatusUnauthorized},
			{"https", "nonsense", http.StatusInternalServerError}, // controller-runtime's way of refusing
			{"https", token(t, stranger), http.StatusForbidden},
			{"https", token(t, reader), http.StatusOK},
			{"http", token(t, reader), http.StatusBadRequest},
		} {
			if got, err := get(t.Context(), config, test.scheme+"://"+m.metrics+"/metrics", test.token); err != nil || got != test.want {
				t.Errorf("%s: metrics by %s with a token of %d bytes: %d (%v), want %d\n%s", m.pod, test.scheme, len(test.token), got,
					err, test.want, m.log())
			}
		}
	}
}

// TestTheServiceMonitorVerifies: by what the manager keeps, whatever namespace it is in.
func TestTheServiceMonitorVerifies(t *testing.T) {
	for namespace, all := range map[string]objects{
		system:      template(t, helms[0], "--namespace", system, "--set", "metrics.serviceMonitor.enabled=true"),
		"elections": template(t, helms[0], "--namespace", "elections", "--set", "metrics.serviceMonitor.enabled=true"),
	} {
		want := endpoint{configMap: v1.TrustConfigMap, key: v1.TrustKey, serverName: "podesta-metrics." + namespace + ".svc"}
		if got := endpointOf(t, all); got != want {
			t.Errorf("in %s: %+v, want %+v", namespace, got, want)
		}
	}
	elsewhere := filepath.Join(t.TempDir(), "prometheus")
	must(t, os.CopyFS(elsewhere, os.DirFS(filepath.Join(root, "config", "prometheus"))))
	move(t, elsewhere)
	rendered, err := tool("kustomize", "build", elsewhere)
	must(t, err)
	if got := endpointOf(t, parse(t, rendered)).serverName; got != "podesta-metrics.elections.svc" {
		t.Errorf("kustomize moves it to %s", got)
	}
	own := template(t, helms[0], append(set("metrics.certificateSecret=mine", "metrics.serviceMonitor.tlsConfig.serverName=metrics.example.com"),
		"--set", "metrics.serviceMonitor.enabled=true")...)
	if got, want := endpointOf(t, own), (endpoint{serverName: "metrics.example.com"}); got != want {
		t.Errorf("with a certificate of somebody's own: %+v, want %+v", got, want)
	}
	_, err = tool(helms[0], append([]string{"template", "podesta", chart, "--kube-version", "1.36.0"},
		set("metrics.certificateSecret=mine", "metrics.serviceMonitor.enabled=true")...)...)
	if said := saidBy(err); !strings.Contains(said, "metrics.serviceMonitor.tlsConfig is not") {
		t.Errorf("without a way to verify it: it says %q", said)
	}
}

// status is what a server answers to a probe; 0 if it does not.
func status(ctx context.Context, url string) int {
	code, err := get(ctx, nil, url, "")
	if err != nil {
		return 0
	}
	return code
}

// scrapeWithin is how long an attempt may take: Prometheus gives up after as long.
const scrapeWithin = 10 * time.Second

// get is what a server answers to somebody who verifies it by that configuration.
func get(ctx context.Context, config *tls.Config, url, bearer string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeWithin)
	defer cancel()
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode, nil
}
