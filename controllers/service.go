package controllers

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

// serviceRetry is when it is looked again whether a Service's name is free, or what the API server refused is taken: no watch
// tells of Services that are not the group's.
const serviceRetry = 30 * time.Second

// seenService is what there is of the Service that a group asks for.
type seenService struct {
	ours    *corev1.Service // the group's own; nil: there is none
	foreign string          // whose the Service of that name is; empty: nobody else's
	refused refusal         // of what the present spec asks for
}

// refusal is that the API server has refused a group's Service; zero: it has not.
type refusal struct {
	said       string
	at         time.Time
	generation int64 // of the group
}

// serviceStep is what is to be done about a group's Service; zero: nothing.
type serviceStep struct {
	apply   *corev1ac.ServiceApplyConfiguration
	remove  *corev1.Service
	settled bool // the Service is as it is to be
}

// decideService never touches a Service that is not the group's own: neither is it adopted, nor removed.
func decideService(o observation) (serviceStep, error) {
	ours := o.service.ours
	switch {
	case ours != nil && ours.DeletionTimestamp != nil:
		return serviceStep{}, nil // made anew, if need be, when it is gone
	case o.group.Spec.Service == nil:
		return serviceStep{remove: ours}, nil
	case o.service.foreign != "":
		return serviceStep{}, nil
	}
	wanted, refused := serviceOf(o.group), o.service.refused
	if refused.said != "" && o.now.Sub(refused.at) < serviceRetry {
		return serviceStep{}, nil
	}
	if ours == nil {
		return serviceStep{apply: wanted}, nil
	}
	applied, err := corev1ac.ExtractService(ours, string(serviceOwner))
	if err != nil {
		return serviceStep{}, fmt.Errorf("read what was applied to Service %s: %w", ours.Name, err)
	}
	if equality.Semantic.DeepEqual(applied, wanted) {
		return serviceStep{settled: true}, nil
	}
	return serviceStep{apply: wanted.WithUID(ours.UID)}, nil
}

func serviceName(group *v1.ElectionGroup) string { return group.Name + v1.CoordinatorServiceSuffix }

// serviceOf is the Service that a group asks for. It goes with the group: the group owns it. It blocks no deletion of the group,
// which would take the right to write the group's finalizers.
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
		WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion(v1.GroupVersion.String()).WithKind("ElectionGroup").
			WithName(group.Name).WithUID(group.UID).WithController(true)).
		WithSpec(spec)
}

// ownerOf says, for people, whose a Service is.
func ownerOf(service *corev1.Service) string {
	if owner := metav1.GetControllerOf(service); owner != nil {
		return fmt.Sprintf("it belongs to %s %s (UID %s)", owner.Kind, owner.Name, owner.UID)
	}
	return "nothing owns it"
}

// serviceCondition says why a group does not have the Service that it asks for, and what to do; nil if it has it, or will.
func serviceCondition(group *v1.ElectionGroup, seen seenService) *metav1.Condition {
	if group.Spec.Service == nil {
		return nil
	}
	var c metav1.Condition
	switch name := serviceName(group); {
	case seen.foreign != "":
		c = condition(v1.ConditionStalled, metav1.ConditionTrue, "ServiceNameTaken",
			"there is a Service %s that is not this group's (%s), and it is left alone: delete it, or take spec.service out of the group "+
				"and have a Service of your own select %s=%s,%s=%s", name, seen.foreign, v1.GroupLabel, group.Name, v1.RoleLabel,
			v1.RoleCoordinator)
	case seen.refused.said != "":
		c = condition(v1.ConditionStalled, metav1.ConditionTrue, "ServiceRefused",
			"the API server refuses the Service %s: %s. Change spec.service, or what refuses it (a quota, a policy); it is tried again every %v",
			name, seen.refused.said, serviceRetry)
	default:
		return nil
	}
	return &c
}
