package main

import (
	"slices"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// noLease checks that the operators have left no trace of an election in the API server.
func noLease(t *testing.T, c client.Client) {
	t.Helper()
	var leases coordinationv1.LeaseList
	var events corev1.EventList
	for _, list := range []client.ObjectList{&leases, &events} {
		if err := c.List(t.Context(), list, client.InNamespace("default")); err != nil {
			t.Fatal(err)
		}
	}
	of := slices.DeleteFunc(events.Items, aboutTheAPIServer)
	if len(leases.Items) > 0 || len(of) > 0 {
		t.Errorf("leases %+v, events %+v", leases.Items, of)
	}
}

// aboutTheAPIServer says that an event is about the API server's own Service. It makes such events
// itself: while it starts, it may find that the Service's address is not allocated yet.
func aboutTheAPIServer(event corev1.Event) bool {
	about := event.InvolvedObject
	return about.Kind == "Service" && about.Name == "kubernetes"
}
