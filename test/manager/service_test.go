package manager

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// served asks for a Service with these ports.
func served(ports ...v1.CoordinatorPort) func(*v1.ElectionGroup) {
	return func(g *v1.ElectionGroup) { g.Spec.Service = &v1.CoordinatorService{Ports: ports} }
}

var (
	webPort = v1.CoordinatorPort{Name: "http", Port: 80, TargetPort: new(intstr.FromString("web"))}
	rpcPort = v1.CoordinatorPort{Name: "grpc", Port: 9000, AppProtocol: "kubernetes.io/h2c"}
)

// serviceIn is the Service of group scheduler; nil if there is none.
func serviceIn(t *testing.T, namespace string) *corev1.Service {
	t.Helper()
	service := &corev1.Service{}
	err := kube.Get(bg, types.NamespacedName{Namespace: namespace, Name: "scheduler-coordinator"}, service)
	if apierrors.IsNotFound(err) {
		return nil
	}
	must(t, err)
	return service
}

// keeps waits until the Service is as it is to be.
func keeps(t *testing.T, namespace, what string, ok func(*corev1.Service) bool) *corev1.Service {
	t.Helper()
	var service *corev1.Service
	eventually(t, what, func() bool {
		service = serviceIn(t, namespace)
		return ok(service)
	})
	return service
}

func ask(t *testing.T, namespace string, edit func(*v1.ElectionGroup)) {
	t.Helper()
	group := groupIn(t, namespace)
	before := client.MergeFrom(group.DeepCopy())
	edit(group)
	must(t, kube.Patch(bg, group, before))
}

// foreigner makes a Service that has the name of the group's and belongs to somebody else.
func foreigner(ctx context.Context, t *testing.T, namespace string) *corev1.Service {
	t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scheduler-coordinator"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "theirs", Port: 4711}}}}
	must(t, kube.Create(ctx, service))
	return service
}

func TestServiceFollowsTheCoordinator(t *testing.T) {
	for _, safety := range []v1.Safety{v1.Classic, v1.Guarded} {
		t.Run(string(safety), func(t *testing.T) {
			startManager(t, "")
			namespace := newNamespace(t)
			group := newGroup(t, namespace, func(g *v1.ElectionGroup) { g.Spec.Safety = safety }, served(webPort, rpcPort))
			service := keeps(t, namespace, "the Service", func(s *corev1.Service) bool { return s != nil })
			if s := service.Spec.Selector; len(s) != 2 || s[v1.GroupLabel] != "scheduler" || s[v1.RoleLabel] != v1.RoleCoordinator {
				t.Errorf("it selects %v", s)
			}
			if !metav1.IsControlledBy(service, group) || service.Labels[v1.GroupLabel] != "scheduler" {
				t.Errorf("it is owned by %v, labelled %v", service.OwnerReferences, service.Labels)
			}
			want := []corev1.ServicePort{
				{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromString("web")},
				{Name: "grpc", Protocol: corev1.ProtocolTCP, Port: 9000, TargetPort: intstr.FromInt32(9000),
					AppProtocol: new("kubernetes.io/h2c")}}
			if len(service.Spec.Ports) != 2 || !slices.EqualFunc(service.Spec.Ports, want, func(a, b corev1.ServicePort) bool {
				return a.Name == b.Name && a.Protocol == b.Protocol && a.Port == b.Port && a.TargetPort == b.TargetPort &&
					(a.AppProtocol == nil) == (b.AppProtocol == nil)
			}) {
				t.Errorf("ports %+v\nwant  %+v", service.Spec.Ports, want)
			}
		})
	}
}

// What others set on the group's Service stays, its type included, when the group changes what is the
// group's: so spec.service need not offer all that a Service has.
func TestWhatOthersSetOnTheServiceStays(t *testing.T) {
	startManager(t, "")
	namespace := newNamespace(t)
	newGroup(t, namespace, served(webPort))
	service := keeps(t, namespace, "the Service", func(s *corev1.Service) bool { return s != nil })
	before := client.MergeFrom(service.DeepCopy())
	service.Annotations = map[string]string{"example.com/note": "theirs"}
	service.Labels["team"] = "shop"
	service.Spec.Type, service.Spec.SessionAffinity = corev1.ServiceTypeLoadBalancer, corev1.ServiceAffinityClientIP
	service.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyPreferDualStack)
	must(t, kube.Patch(bg, service, before, client.FieldOwner("somebody")))

	ask(t, namespace, served(rpcPort))
	now := keeps(t, namespace, "the new port", func(s *corev1.Service) bool { return s.Spec.Ports[0].Port == rpcPort.Port })
	if now.Annotations["example.com/note"] != "theirs" || now.Labels["team"] != "shop" ||
		now.Spec.Type != corev1.ServiceTypeLoadBalancer || now.Spec.SessionAffinity != corev1.ServiceAffinityClientIP ||
		*now.Spec.IPFamilyPolicy != corev1.IPFamilyPolicyPreferDualStack {
		t.Errorf("what somebody had set is gone: %v, %v, %+v", now.Annotations, now.Labels, now.Spec)
	}
	if now.UID != service.UID || len(now.Spec.Ports) != 1 {
		t.Errorf("another Service, or more ports than the group has now: %+v", now.Spec.Ports)
	}
}

func TestForeignServiceIsLeftAlone(t *testing.T) {
	startManager(t, "")
	namespace := newNamespace(t)
	theirs := foreigner(bg, t, namespace)
	newGroup(t, namespace, served(webPort))
	seen := sees(t, namespace, "that the name is taken", stalledBy("ServiceNameTaken"))
	if c := conditionOf(seen[len(seen)-1], v1.ConditionReady); c != metav1.ConditionFalse {
		t.Errorf("Ready is %s", c)
	}
	eventsIn(t, namespace, "ServiceNameTaken: Service scheduler-coordinator exists and does not belong to this group (it has "+
		"no owner), so it is left alone. Delete it, or remove spec.service from the group and let a Service of your own "+
		"select podesta.dev/group=scheduler,podesta.dev/role=coordinator")
	if s := serviceIn(t, namespace); s.ResourceVersion != theirs.ResourceVersion {
		t.Errorf("it was changed: %+v", s)
	}
	ask(t, namespace, func(g *v1.ElectionGroup) { g.Spec.Service = nil })
	sees(t, namespace, "no complaint", func(g *v1.ElectionGroup) bool { return conditionOf(g, v1.ConditionStalled) == metav1.ConditionFalse })
	if s := serviceIn(t, namespace); s == nil || s.ResourceVersion != theirs.ResourceVersion {
		t.Errorf("it was changed, or removed: %+v", s)
	}

	must(t, kube.Delete(bg, theirs))
	ask(t, namespace, served(webPort))
	keeps(t, namespace, "the group's own", func(s *corev1.Service) bool { return s != nil && metav1.IsControlledBy(s, groupIn(t, namespace)) })
}

// Somebody makes a Service of that name in the moment between the look and the write.
func TestServiceThatComesInBetweenIsNotAdopted(t *testing.T) {
	namespace := newNamespace(t)
	group := newGroup(t, namespace, served(webPort))
	var theirs *corev1.Service
	late := interceptor.NewClient(kube, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch,
		key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		err := c.Get(ctx, key, o, opts...)
		if _, ok := o.(*corev1.Service); ok && theirs == nil && apierrors.IsNotFound(err) {
			theirs = foreigner(ctx, t, namespace)
		}
		return err
	}})
	groups := newGroups(t, kube, &handedOut{})
	groups.Live = late
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(group)}
	again, err := groups.Reconcile(bg, request)
	must(t, err)
	if theirs == nil || again.RequeueAfter != groups.Debounce {
		t.Fatalf("looked again in %v; want soon, after the write met somebody else's Service", again.RequeueAfter)
	}
	_, err = groups.Reconcile(bg, request)
	must(t, err)
	if s := serviceIn(t, namespace); s.ResourceVersion != theirs.ResourceVersion {
		t.Errorf("it was adopted: %+v", s)
	}
	if !stalledBy("ServiceNameTaken")(groupIn(t, namespace)) {
		t.Errorf("it is not told: %+v", groupIn(t, namespace).Status.Conditions)
	}
}
