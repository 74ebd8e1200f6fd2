package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/apiclock"
	"github.com/podesta-dev/podesta/internal/check"
)

// pages are what an API server answers, by path: an object, an error of apierrors, or a text. What
// has none it does not know.
type pages map[string]any

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch page := p[r.URL.Path].(type) {
	case nil:
		http.NotFound(w, r)
	case func(http.ResponseWriter, *http.Request):
		page(w, r)
	case *apierrors.StatusError:
		status := page.Status()
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		_ = json.NewEncoder(w).Encode(status)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(page)
	}
}

// serve starts an API server, and returns the client with which the commands reach it.
func serve(t *testing.T, p pages) *apiServer {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	client, err := newAPIServer(&rest.Config{Host: server.URL, QPS: -1}) // no limit
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestRefusedOrAbsent: an API server forbids what it does not have to users without rights. They
// are told that it has no groups, as users with rights are.
func TestRefusedOrAbsent(t *testing.T) {
	const (
		api   = "/apis/podesta.dev/v1"
		all   = api + "/namespaces/shop/electiongroups"
		group = all + "/g"
	)
	refused := apierrors.NewForbidden(groupResource, "g", errors.New("by RBAC"))
	no := pages{group: refused, all: refused}
	with := func(more any) pages {
		p := maps.Clone(no)
		p[api] = more
		return p
	}
	for name, test := range map[string]struct {
		pages pages
		code  int
	}{
		"it has no groups":             {nil, exitNoCRD},
		"and refuses them":             {no, exitNoCRD},
		"it has another resource only": {with(resources("others")), exitNoCRD},
		"it has groups":                {with(resources("others", "electiongroups")), exitForbidden},
		"it does not say what it has":  {with(refused), exitForbidden},
		"what it says is no JSON":      {with("no list"), exitForbidden},
	} {
		in := around(nil)
		kube := serve(t, test.pages)
		in.connect = func(*cluster) (apiClient, string, error) { return kube, "shop", nil }
		for _, line := range []string{"status", "status g", "status -w", "forget g"} {
			if _, _, err := runIn(t.Context(), in, line); exitCode(err) != test.code {
				t.Errorf("%s: %s: code %d, want %d: %v", name, line, exitCode(err), test.code, err)
			}
		}
		_, err := kube.watch(t.Context(), reading{namespace: "shop", name: "g"}, "")
		if meta.IsNoMatchError(err) != (test.code == exitNoCRD) || err == nil {
			t.Errorf("%s: watch: %v", name, err)
		}
		i := inspector{kube: kube, namespace: "shop"}
		if i.knowsNoGroups(t.Context()) != (test.code == exitNoCRD) {
			t.Errorf("%s: check is sure that there are no groups: %t", name, test.code != exitNoCRD)
		}
		groups := readList[v1.ElectionGroup](t.Context(), &i,
			listed{"groups", groupsResource, "shop", ""}, &v1.ElectionGroupList{})
		if groups.Err == nil ||
			strings.Contains(groups.Err.Error(), "may not") != (test.code == exitForbidden) {
			t.Errorf("%s: check: %v", name, groups.Err)
		}
	}
}

// Whoever may not read definitions sees all the same that there are no groups.
func TestCheckWithoutTheRightToReadDefinitions(t *testing.T) {
	definition := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/electiongroups.podesta.dev"
	refused := pages{
		definition: apierrors.NewForbidden(definitionsResource.GroupResource(), "g", errors.New("by RBAC")),
		"/apis/apiextensions.k8s.io/v1": metav1.APIResourceList{
			APIResources: []metav1.APIResource{{Name: definitionsResource.Resource}}},
	}
	there := maps.Clone(refused)
	there["/apis/podesta.dev/v1/namespaces/shop/electiongroups"] = v1.ElectionGroupList{
		TypeMeta: metav1.TypeMeta{Kind: "ElectionGroupList", APIVersion: "podesta.dev/v1"}}
	for want, has := range map[check.State]pages{check.Failed: refused, check.Unknown: there} {
		i := inspector{system: "podesta-system", namespace: "shop", kube: serve(t, has),
			ask: func(context.Context) (check.Version, check.Clock, error) {
				return check.Version{Major: 1, Minor: 36}, check.Clock{}, nil
			}}
		results, err := i.results(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if strings.Contains(r.Check, "electiongroups.podesta.dev is defined") && r.State != want {
				t.Errorf("%v, want it to be %v", r, want)
			}
		}
	}
}

func resources(names ...string) metav1.APIResourceList {
	list := metav1.APIResourceList{GroupVersion: v1.GroupVersion.String()}
	for _, name := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
	}
	return list
}

// groupOfALaterVersion is a group as the API server sends it, with a field that this program does
// not know.
const groupOfALaterVersion = `{"apiVersion": "podesta.dev/v1", "kind": "ElectionGroup",
	"metadata": {"namespace": "shop", "name": "g", "resourceVersion": "5", "uid": "u"},
	"spec": {"algorithm": "Bully", "invented": {"later": 1}},
	"status": {"coordinator": {"name": "g-1", "epoch": 9007199254740993}}}`

// What the API server sends is read exactly, and what is not known of it is ignored.
func TestGroupsOfAnAPIServer(t *testing.T) {
	const path = "/apis/podesta.dev/v1/namespaces/shop/electiongroups"
	var patched string
	kube := serve(t, pages{
		path: func(w http.ResponseWriter, r *http.Request) {
			if got := r.URL.Query().Get("fieldSelector"); got != "metadata.name=g" {
				t.Errorf("selects %q", got)
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"apiVersion": "podesta.dev/v1", "kind": "ElectionGroupList",
				"metadata": {"resourceVersion": "7"}, "items": [%s]}`, groupOfALaterVersion)
		},
		path + "/g": func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPatch {
				text, _ := io.ReadAll(r.Body)
				patched = r.Header.Get("Content-Type") + " " + string(text)
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, groupOfALaterVersion)
		},
	})
	good := func(g *v1.ElectionGroup) bool {
		return g.Name == "g" && g.Status.Coordinator != nil && g.Status.Coordinator.Epoch == 1<<53+1
	}
	which := reading{namespace: "shop", name: "g"}
	groups, version, err := readGroups(t.Context(), kube, which, io.Discard)
	if err != nil || version != "7" || len(groups) != 1 || !good(groups[0]) {
		t.Errorf("list: %+v, version %q, %v", groups, version, err)
	}
	group, err := readGroup(t.Context(), kube, which, io.Discard)
	if err != nil || !good(group) {
		t.Fatalf("get: %+v, %v", group, err)
	}
	r := request{operation{kube: kube, key: keyOf(group), notes: io.Discard}, "a", forgetRight, ""}
	if err := r.make(t.Context(), group.UID, 1); err != nil || patched !=
		`application/merge-patch+json {"metadata":{"annotations":{"a":"1"},"uid":"u"}}` {
		t.Errorf("patch: %s, %v", patched, err)
	}
}

// The events of a watch have groups, or the status of an error; one that is no group is an error.
func TestWatchOfAnAPIServer(t *testing.T) {
	release := make(chan struct{})
	tell := func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("watch") != "true" || q.Get("resourceVersion") != "7" ||
			q.Get("allowWatchBookmarks") != "true" {
			t.Errorf("asks for %v", q)
		}
		w.Header().Set("Content-Type", "application/json")
		for _, event := range []string{
			`{"type": "ADDED", "object": ` + groupOfALaterVersion + `}`,
			`{"type": "BOOKMARK", "object": {"apiVersion": "podesta.dev/v1", "kind": "ElectionGroup",
				"metadata": {"resourceVersion": "8"}}}`,
			`{"type": "MODIFIED", "object": {"apiVersion": "podesta.dev/v1", "kind": "ElectionGroup",
				"status": "not an object"}}`,
			`{"type": "ERROR", "object": {"apiVersion": "v1", "kind": "Status", "status": "Failure",
				"reason": "Expired", "code": 410}}`,
			`{"type": "DELETED", "object": ` + groupOfALaterVersion + `}`,
		} {
			fmt.Fprintln(w, event)
			w.(http.Flusher).Flush()
		}
		<-release
	}
	kube := serve(t, pages{"/apis/podesta.dev/v1/electiongroups": tell})
	defer close(release)
	events, err := kube.watch(t.Context(), reading{}, "7")
	if err != nil {
		t.Fatal(err)
	}
	next := func(kind watch.EventType) watch.Event {
		t.Helper()
		e := <-events.ResultChan()
		if e.Type != kind {
			t.Fatalf("%v %+v, want %v", e.Type, e.Object, kind)
		}
		return e
	}
	if g := next(watch.Added).Object.(*v1.ElectionGroup); g.Status.Coordinator.Name != "g-1" {
		t.Errorf("%+v", g)
	}
	if g := next(watch.Bookmark).Object.(*v1.ElectionGroup); g.ResourceVersion != "8" {
		t.Errorf("%+v", g)
	}
	if err := apierrors.FromObject(next(watch.Error).Object); !strings.Contains(err.Error(), "decode") {
		t.Errorf("%v", err)
	}
	if err := apierrors.FromObject(next(watch.Error).Object); !apierrors.IsResourceExpired(err) {
		t.Errorf("%v", err)
	}
	next(watch.Deleted)
	events.Stop()
	// A watch that is stopped while it reads may still say that its connection was closed under it.
	for e := range events.ResultChan() {
		if e.Type != watch.Error {
			t.Errorf("after its end: %+v", e)
		}
	}
}

// A question for rights says of what kind it is, and has the answer afterwards.
func TestReviewOfAnAPIServer(t *testing.T) {
	const path = "/apis/authorization.k8s.io/v1/"
	asked := map[string]bool{}
	answer := func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s, %v", r.Method, err)
		}
		asked[review.APIVersion+" "+review.Kind+" "+review.Spec.User] = true
		review.Status.Allowed = review.Spec.ResourceAttributes.Verb == "get"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(review)
	}
	i := inspector{system: "a", kube: serve(t, pages{
		path + "selfsubjectaccessreviews": answer,
		path + "subjectaccessreviews":     answer,
	})}
	rights := []check.Right{{Verb: "get"}, {Verb: "delete"}}
	for _, may := range []func(context.Context, *authorizationv1.ResourceAttributes) (bool, error){
		i.userMay, i.managerMay} {
		got := missing(t.Context(), rights, "ask", may)
		if got.Err != nil || len(got.Value) != 1 || got.Value[0] != rights[1] {
			t.Errorf("missing are %v, %v", got.Value, got.Err)
		}
	}
	if !asked["authorization.k8s.io/v1 SelfSubjectAccessReview "] ||
		!asked["authorization.k8s.io/v1 SubjectAccessReview system:serviceaccount:a:podesta-manager"] {
		t.Errorf("%v", asked)
	}
}

// An object that is not there, or whose kind is not, is no error of a check.
func TestAbsentObjectsOfAnAPIServer(t *testing.T) {
	kube := serve(t, pages{
		"/api/v1/namespaces/a/configmaps/c": apierrors.NewNotFound(corev1.Resource("configmaps"), "c"),
		"/api/v1/namespaces/a/configmaps/d": corev1.ConfigMap{Data: map[string]string{"k": "v"},
			TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}},
	})
	for name, want := range map[string]string{"c": "", "d": "v"} {
		got := readObject(t.Context(), &inspector{kube: kube}, "configmap", configMapsResource, "a", name, &corev1.ConfigMap{})
		if got.Err != nil || (got.Value != nil) != (want != "") || want != "" && got.Value.Data["k"] != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	none := readObject(t.Context(), &inspector{kube: kube}, "crd", definitionsResource, "", "d", &corev1.ConfigMap{})
	if none.Value != nil || none.Err != nil {
		t.Errorf("a kind that is not there: %+v", none)
	}
	err := kube.get(t.Context(), definitionsResource, types.NamespacedName{Name: "d"}, &corev1.ConfigMap{})
	if !meta.IsNoMatchError(err) {
		t.Errorf("%v", err)
	}
}

// The answer to the question for the version shows the API server's clock, too.
func TestVersionOfAnAPIServer(t *testing.T) {
	server := httptest.NewServer(pages{"/version": apiversion.Info{Major: "1", Minor: "36+"}})
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	clock := apiclock.New(time.Now, slog.New(slog.DiscardHandler))
	config.Wrap(clock.Watch)
	kube, err := newAPIServer(config)
	if err != nil {
		t.Fatal(err)
	}
	v, c, err := kube.asksVersion(clock)(t.Context())
	if err != nil || v.Minor != 36 || time.Since(c.Server).Abs() > time.Minute || c.Within > time.Minute {
		t.Errorf("%+v, %+v, %v", v, c, err)
	}
	if _, _, err := serve(t, nil).asksVersion(clock)(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("%v", err)
	}
}
