package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
)

// newRecorder returns a recorder of events, which ends with ctx. The one of controller-runtime logs
// an ERROR for each event in a namespace that ends, because the API server refuses it.
func newRecorder(ctx context.Context, mgr ctrl.Manager) (events.EventRecorder, error) {
	client, err := eventsclient.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("record events: %w", err)
	}
	broadcaster := events.NewBroadcaster(eventSink{&events.EventSinkImpl{Interface: client}})
	context.AfterFunc(ctx, broadcaster.Shutdown)
	logged := ctrl.LoggerInto(ctx, mgr.GetLogger().WithName("events"))
	if err := broadcaster.StartRecordingToSinkWithContext(logged); err != nil {
		return nil, fmt.Errorf("record events: %w", err)
	}
	return broadcaster.NewRecorder(mgr.GetScheme(), "podesta-manager"), nil
}

// eventSink writes events to the API server. It drops those of a namespace that ends.
type eventSink struct{ events.EventSink }

func (s eventSink) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	created, err := s.EventSink.Create(ctx, e)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return e, nil
	}
	return created, err
}
