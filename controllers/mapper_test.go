package controllers

import (
	"log/slog"
	"net"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// A manager can be made, and so can wait, while there is no API server.
func TestAManagerNeedsNoAPIServerToBegin(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(
		&rest.Config{Host: "http://" + nobody.Addr().String()},
		ctrl.Options{Scheme: scheme,
			Cache: CacheOptions(), MapperProvider: NewMapper, Metrics: server.Options{BindAddress: "0"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	err = Setup(t.Context(), mgr, Options{
		Namespace: "podesta-system",
		Registry:  prometheus.NewRegistry(),
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheMapperKnowsTheResources(t *testing.T) {
	mapper, err := NewMapper(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, kind := range map[string]schema.GroupKind{
		"electiongroups": {Group: "podesta.dev", Kind: "ElectionGroup"}, "pods": {Kind: "Pod"}, "services": {Kind: "Service"},
		"configmaps": {Kind: "ConfigMap"}, "secrets": {Kind: "Secret"}, "tokenreviews": {Group: "authentication.k8s.io", Kind: "TokenReview"},
	} {
		if mapping, err := mapper.RESTMapping(kind); err != nil ||
			mapping.Resource.Resource != want {
			t.Errorf("%v is %+v (%v), want %s", kind, mapping, err, want)
		}
	}
}
