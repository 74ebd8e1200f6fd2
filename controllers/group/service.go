package group

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// seenService is what there is of the Service that a group asks for.
type seenService struct {
	ours    *corev1.Service // the group's own; nil: there is none
	foreign string          // who owns the Service of that name; empty: nobody else does
	refused refusal         // of what the present spec asks for
	lookup  lookup
}

// lookup is what the API server said of a Service's name that the cache knows no Service of. It
// counts for a while: a group whose processes come and go has ten passes a second.
type lookup struct {
	at         time.Time // zero: it was not asked
	generation int64     // of the group
	foreign    string    // who owns the Service; empty: there was none
}

// counts reports whether the API server need not be asked again yet.
func (l lookup) counts(group *v1.ElectionGroup, now time.Time) bool {
	return !l.at.IsZero() && l.generation == group.Generation && now.Sub(l.at) < retryRefused
}

// serviceDecision is what is to be done about a group's Service; zero: nothing.
type serviceDecision struct {
	apply    *corev1ac.ServiceApplyConfiguration
	remove   *corev1.Service
	upToDate bool
	err      error // what was applied before cannot be read
}

// decideService never touches a Service that is not the group's own: it neither adopts nor removes
// it.
func decideService(o observation) serviceDecision {
	ours := o.service.ours
	switch {
	case ours != nil && ours.DeletionTimestamp != nil:
		return serviceDecision{} // made anew, if need be, when it is gone
	case o.group.Spec.Service == nil:
		return serviceDecision{remove: ours}
	case o.service.foreign != "":
		return serviceDecision{}
	}
	wanted := serviceOf(o.group)
	if o.service.refused.lately(o.now) {
		return serviceDecision{}
	}
	if ours == nil {
		return serviceDecision{apply: wanted}
	}
	applied, err := corev1ac.ExtractService(ours, string(serviceOwner))
	if err != nil {
		return serviceDecision{
			err: fmt.Errorf("read what was applied to Service %s: %w", ours.Name, err),
		}
	}
	if equality.Semantic.DeepEqual(applied, wanted) {
		return serviceDecision{upToDate: true}
	}
	return serviceDecision{apply: wanted.WithUID(ours.UID)}
}

func serviceName(group *v1.ElectionGroup) string { return group.Name + v1.CoordinatorServiceSuffix }

// serviceOf returns the Service that a group asks for. The group owns it, so it is deleted with the
// group. It blocks no deletion of the group, which would take the right to write the group's
// finalizers.
func serviceOf(group *v1.ElectionGroup) *corev1ac.ServiceApplyConfiguration {
	spec := corev1ac.ServiceSpec().
		WithSelector(map[string]string{v1.GroupLabel: group.Name, v1.RoleLabel: v1.RoleCoordinator})
	for _, p := range group.Spec.Service.Ports {
		port := corev1ac.ServicePort().WithPort(p.Port).WithProtocol(corev1.Protocol(p.Protocol))
		if p.Name != "" {
			port.WithName(p.Name)
		}
		if p.TargetPort != nil {
			port.WithTargetPort(*p.TargetPort)
		}
		if p.AppProtocol != "" {
			port.WithAppProtocol(p.AppProtocol)
		}
		spec.WithPorts(port)
	}
	return corev1ac.Service(serviceName(group), group.Namespace).
		WithLabels(map[string]string{v1.GroupLabel: group.Name}).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(v1.GroupVersion.String()).WithKind("ElectionGroup").
			WithName(group.Name).WithUID(group.UID).WithController(true)).
		WithSpec(spec)
}

// ownerOf returns, for people, who owns a Service.
func ownerOf(service *corev1.Service) string {
	if owner := metav1.GetControllerOf(service); owner != nil {
		return fmt.Sprintf("it belongs to %s %s (UID %s)", owner.Kind, owner.Name, owner.UID)
	}
	return "it has no owner"
}

// serviceCondition returns why a group does not have the Service that it asks for, and what to do;
// nil if it has it, or will.
func serviceCondition(group *v1.ElectionGroup, seen seenService) *metav1.Condition {
	if group.Spec.Service == nil {
		return nil
	}
	var c metav1.Condition
	switch name := serviceName(group); {
	case seen.foreign != "":
		c = condition(v1.ConditionStalled, metav1.ConditionTrue, "ServiceNameTaken",
			"Service %s exists and does not belong to this group (%s), so it is left alone. "+
				"Delete it, or remove spec.service from the group and let a Service of your own "+
				"select %s=%s,%s=%s", name,
			seen.foreign, v1.GroupLabel, group.Name, v1.RoleLabel, v1.RoleCoordinator)
	case seen.refused.message != "":
		c = condition(v1.ConditionStalled, metav1.ConditionTrue, "ServiceRefused",
			"the API server refuses Service %s: %s. Change spec.service, or what refuses it (a "+
				"quota or a policy). The manager tries again every %v", name,
			seen.refused.message, retryRefused)
	default:
		return nil
	}
	return &c
}
