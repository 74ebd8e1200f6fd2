package controlplane

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// namespaceKeeper gives every namespace what the API server's ServiceAccount plugin needs to admit
// a pod: the ServiceAccount "default", and the CA that the automatic token volume carries.
type namespaceKeeper struct {
	client kubernetes.Interface
	rootCA string
}

// run prepares every namespace that appears, until the context ends.
func (k namespaceKeeper) run(ctx context.Context) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	factory := informers.NewSharedInformerFactory(k.client, 0)
	_, err := factory.Core().V1().Namespaces().Informer().AddEventHandler(
		cache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) {
				if namespace, ok := object.(*corev1.Namespace); ok {
					queue.Add(namespace.Name)
				}
			},
		})
	if err != nil {
		return // only an informer that was stopped refuses a handler; this one has not been started
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	go func() {
		<-ctx.Done()
		queue.ShutDown()
	}()
	for {
		name, stop := queue.Get()
		if stop {
			return
		}
		if err := k.prepare(ctx, name); err != nil {
			queue.AddRateLimited(name)
		} else {
			queue.Forget(name)
		}
		queue.Done(name)
	}
}

// prepare makes the two objects in a namespace. That they exist already, or that the namespace is
// going, is well.
func (k namespaceKeeper) prepare(ctx context.Context, namespace string) error {
	_, err := k.client.CoreV1().ServiceAccounts(namespace).Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	if err := tolerable(err); err != nil {
		return err
	}
	_, err = k.client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-root-ca.crt"},
		Data:       map[string]string{"ca.crt": k.rootCA},
	}, metav1.CreateOptions{})
	return tolerable(err)
}

func tolerable(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}
