package api

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/envtest"
	"github.com/podesta-dev/podesta/test/manifest"
)

func httpGet(path string, port int32) *podestav1.AppHealth {
	return &podestav1.AppHealth{HTTPGet: &podestav1.HTTPGetAction{Path: path, Port: port}}
}

// TestAppHealth tries what may and what may not be said of an app's health. What the API server
// accepts, agents must accept too: the roster of a group with one bad field would be no roster.
func TestAppHealth(t *testing.T) {
	namespace := newNamespace(t)
	grpc := func(service string) *podestav1.AppHealth {
		return &podestav1.AppHealth{GRPC: &podestav1.GRPCAction{Port: 9090, Service: &service}}
	}
	tcp := func(change func(*podestav1.AppHealth)) *podestav1.AppHealth {
		h := &podestav1.AppHealth{TCPSocket: &podestav1.TCPSocketAction{Port: 5432}}
		change(h)
		return h
	}
	by := func(scheme podestav1.URIScheme) *podestav1.AppHealth {
		return &podestav1.AppHealth{HTTPGet: &podestav1.HTTPGetAction{Scheme: scheme, Port: 8443}}
	}
	keepSession := func(h *podestav1.AppHealth) { h.Session = &podestav1.SessionAction{} }
	const exactlyOne = "spec.appHealth must set exactly one of httpGet, tcpSocket, grpc and session"
	const badPath = "path must start with / and be a valid URL path: percent-encode spaces and non-ASCII characters (a space is %20)"
	for name, test := range map[string]struct {
		health  *podestav1.AppHealth
		message string
	}{
		"httpGet":                     {httpGet("/healthz?deep=1", 8080), ""},
		"httpGet by TLS":              {by("HTTPS"), ""},
		"httpGet by no scheme":        {by("https"), `spec.appHealth.httpGet.scheme: Unsupported value: "https": supported values: "HTTP", "HTTPS"`},
		"httpGet of a long path":      {httpGet("/"+strings.Repeat("x", 1023), 65535), ""},
		"tcpSocket":                   {tcp(func(*podestav1.AppHealth) {}), ""},
		"grpc":                        {&podestav1.AppHealth{GRPC: &podestav1.GRPCAction{Port: 1}}, ""},
		"grpc with a service":         {grpc("shop.v1.Orders"), ""},
		"grpc with an empty service":  {grpc(""), ""},
		"session":                     {&podestav1.AppHealth{Session: &podestav1.SessionAction{}}, ""},
		"a session and a probe":       {tcp(keepSession), exactlyOne},
		"nothing":                     {&podestav1.AppHealth{}, exactlyOne},
		"nothing but a period":        {&podestav1.AppHealth{PeriodSeconds: 2}, exactlyOne},
		"two of them":                 {tcp(func(h *podestav1.AppHealth) { h.GRPC = &podestav1.GRPCAction{Port: 1} }), exactlyOne},
		"a path too long":             {httpGet("/"+strings.Repeat("x", 1024), 80), "spec.appHealth.httpGet.path: Too long: may not be more than 1024 bytes"},
		"a path without a slash":      {httpGet("healthz", 80), badPath},
		"another host for a path":     {httpGet("http://192.0.2.1/", 80), badPath},
		"another host in a path":      {httpGet("//192.0.2.1/", 80), ""}, // is a path: TestNothingLeadsElsewhere in internal/apphealth
		"a path with a blank":         {httpGet("/a b", 80), badPath},
		"a path with a line end":      {httpGet("/a\r\nHost: b", 80), badPath},
		"a path that is not ASCII":    {httpGet("/ä", 80), badPath},
		"a path of a bad escape":      {httpGet("/%zz", 80), badPath},
		"no port":                     {httpGet("/", 0), "spec.appHealth.httpGet.port: Required value"},
		"a port too high":             {httpGet("/", 65536), "spec.appHealth.httpGet.port in body should be less than or equal to 65535"},
		"a service with a blank":      {grpc("a b"), "service must consist of printable ASCII characters without spaces"},
		"a service that is not ASCII": {grpc("ä"), "service must consist of printable ASCII characters without spaces"},
		"a service too long":          {grpc(strings.Repeat("x", 254)), "spec.appHealth.grpc.service: Too long: may not be more than 253 bytes"},
		"the longest of all": {tcp(func(h *podestav1.AppHealth) {
			h.PeriodSeconds, h.TimeoutSeconds, h.FailureThreshold, h.SuccessThreshold = 300, 300, 100, 100
		}), ""},
		"a negative period":  {tcp(func(h *podestav1.AppHealth) { h.PeriodSeconds = -1 }), "spec.appHealth.periodSeconds in body should be greater than or equal to 1"},
		"a period too long":  {tcp(func(h *podestav1.AppHealth) { h.PeriodSeconds = 301 }), "spec.appHealth.periodSeconds in body should be less than or equal to 300"},
		"a timeout too long": {tcp(func(h *podestav1.AppHealth) { h.TimeoutSeconds = 301 }), "spec.appHealth.timeoutSeconds in body should be less than or equal to 300"},
		"too many failures":  {tcp(func(h *podestav1.AppHealth) { h.FailureThreshold = 101 }), "spec.appHealth.failureThreshold in body should be less than or equal to 100"},
		"too many successes": {tcp(func(h *podestav1.AppHealth) { h.SuccessThreshold = 101 }), "spec.appHealth.successThreshold in body should be less than or equal to 100"},
	} {
		t.Run(name, func(t *testing.T) {
			group := newGroup(namespace)
			group.Spec.AppHealth = test.health
			checkRefusal(t, kube.Create(t.Context(), group, client.DryRunAll), test.message)
			if err := agentsTake(group.Spec.AppHealth); (err == nil) != (test.message == "") {
				t.Errorf("agents say: %v", err)
			}
		})
	}
}

// agentsTake says what is wrong with a roster that has this of its apps' health. A roster in a file
// has it as the API does.
func agentsTake(spec *podestav1.AppHealth) error {
	_, err := toAgents(spec)
	return err
}

func toAgents(spec *podestav1.AppHealth) (roster.AppHealth, error) {
	text, err := json.Marshal(map[string]any{"group": "g", "appHealth": spec})
	if err != nil {
		return roster.AppHealth{}, err
	}
	r, err := roster.Parse(text)
	return r.AppHealth, err
}

// TestAppHealthDefaults: what is left out is as an agent has it that is told so by its flag or by a
// file.
func TestAppHealthDefaults(t *testing.T) {
	group := newGroup(newNamespace(t))
	group.Spec.AppHealth = httpGet("", 8080)
	own, err := toAgents(group.Spec.AppHealth)
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.Create(t.Context(), group, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	h := group.Spec.AppHealth
	if h.PeriodSeconds == 0 || h.TimeoutSeconds == 0 || h.FailureThreshold == 0 || h.SuccessThreshold == 0 || h.HTTPGet.Path != "/" ||
		h.HTTPGet.Scheme != podestav1.URISchemeHTTP {
		t.Errorf("not all defaults are set: %+v, %+v", h, h.HTTPGet)
	}
	if served, err := toAgents(h); err != nil || served != own {
		t.Errorf("the API's defaults make %+v (%v), an agent's own %+v", served, err, own)
	}
}

// TestAppHealthHasNoHost: there is no way to have agents ask elsewhere.
func TestAppHealthHasNoHost(t *testing.T) {
	crds, err := manifest.Read(filepath.Join(envtest.Root, "config", "crd", "bases", "podesta.dev_electiongroups.yaml"))
	must(t, err)
	versions, _, err := unstructured.NestedSlice(crds[0].Object, "spec", "versions")
	must(t, err)
	health, found, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema",
		"properties", "spec", "properties", "appHealth", "properties")
	if err != nil || !found || len(health) < 7 {
		t.Fatalf("appHealth has the fields %v (%v)", health, err)
	}
	noHost(t, "spec.appHealth", health)
}

func noHost(t *testing.T, path string, fields map[string]any) {
	t.Helper()
	for name, schema := range fields {
		for _, word := range []string{"host", "address", "url", "header"} {
			if strings.Contains(strings.ToLower(name), word) {
				t.Errorf("%s.%s: an agent must not be made to ask elsewhere than in its own pod", path, name)
			}
		}
		deeper, _, _ := unstructured.NestedMap(schema.(map[string]any), "properties")
		noHost(t, path+"."+name, deeper)
	}
}
