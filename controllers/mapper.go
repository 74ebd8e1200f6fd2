package controllers

import (
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// NewMapper knows the kinds that the manager uses, so that it need not ask the API server for them:
// a manager that starts while the API server is away, as after the loss of its lease, waits for it,
// rather than ending again and again, a longer time each time, until Kubernetes starts it minutes
// after the API server is back. It is a ctrl.Options.MapperProvider.
func NewMapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper(
		[]schema.GroupVersion{
			v1.GroupVersion,
			corev1.SchemeGroupVersion,
			authenticationv1.SchemeGroupVersion,
		},
	)
	mapper.Add(v1.GroupVersion.WithKind("ElectionGroup"), meta.RESTScopeNamespace)
	for _, kind := range []string{"Pod", "Service", "ConfigMap", "Secret"} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	mapper.Add(authenticationv1.SchemeGroupVersion.WithKind("TokenReview"), meta.RESTScopeRoot)
	return mapper, nil
}
