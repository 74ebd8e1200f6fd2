// Package v1 is the podesta.dev/v1 API: the ElectionGroup, its desired configuration and its
// observed state.
//
// The package holds types and constants, and reads what the status says once for many rows
// (ElectionGroupStatus.Followed). It imports apimachinery and nothing else, so that every other
// package can import it.
//
// +kubebuilder:object:generate=true
// +groupName=podesta.dev
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the API group and version of all types in this package.
	GroupVersion = schema.GroupVersion{Group: "podesta.dev", Version: "v1"}

	// SchemeBuilder registers the types of this package.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds the types of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ElectionGroup{}, &ElectionGroupList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
