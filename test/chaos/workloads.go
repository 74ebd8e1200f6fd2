package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/register"
)

// mixWorkloads has groups whose pods all kinds of workloads make, before the group is there and after, and rolls those that can be rolled:
// each must come up and come through it. A Job whose app ends must end, though its agent does not.
func (r *runner) mixWorkloads(ctx context.Context) error {
	namespace := "chaos-workloads"
	podsFirst, groupFirst := mixed(namespace, "pods-first"), mixed(namespace, "group-first")
	r.table.say("\ntwo groups, each of a StatefulSet, a Deployment, a Job and a pod without an owner")
	defer r.watching(ctx, namespace)()
	if err := r.ApplyObject(ctx, backend.Namespace(namespace)); err != nil {
		return err
	}
	ending := r.mixedJob(&group{namespace: namespace, name: "of-no-group"}, "--help")
	if err := r.applyAll(ctx, ending, groupFirst.election()); err != nil {
		return err
	}
	if err := r.applyAll(ctx, append(append(r.mixedWorkloads(groupFirst), r.mixedWorkloads(podsFirst)...), podsFirst.election())...); err != nil {
		return err
	}
	err := backend.Each([]*group{podsFirst, groupFirst}, func(g *group) error { return r.comeUpAndRoll(ctx, g) })
	if err != nil {
		return err
	}
	if err := r.awaitJob(ctx, ending); err != nil {
		return err
	}
	return r.backend.Clear(ctx, namespace)
}

// comeUpAndRoll awaits that a group is well, rolls its pods, and awaits it again.
func (r *runner) comeUpAndRoll(ctx context.Context, g *group) error {
	begun := register.Now()
	if err := r.settled(ctx, g, nil); err != nil {
		return err
	}
	up := register.Now()
	ended := map[string]bool{}
	for _, p := range r.scene.podsOf(g.name) {
		if kind := p.Labels[workloadLabel]; kind == "set" || kind == "deployment" {
			ended[string(p.UID)] = true
		}
	}
	g.restarts++
	if err := r.applyAll(ctx, r.mixedSet(g), r.mixedDeployment(g)); err != nil {
		return err
	}
	if err := r.settled(ctx, g, ended); err != nil {
		return err
	}
	r.table.say("%s: well after %.1f s, and again %.1f s after a rolling update began", g.name, up.Sub(begun).Seconds(), register.Now().Sub(up).Seconds())
	return nil
}

// workloadLabel tells the pods of one group's workloads apart.
const workloadLabel = "workload"

// mixed is a group of six pods: two of a StatefulSet, which makes them in their order, two of a Deployment, one of a Job, and one more.
func mixed(namespace, name string) *group {
	return &group{namespace: namespace, name: name, algorithm: v1.Bully, safety: v1.Guarded, size: 6, now: 6, never: true}
}

func (r *runner) mixedWorkloads(g *group) []client.Object {
	template, _ := r.mixedPod(g, "pod")
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = g.namespace, g.name+"-pod"
	return []client.Object{r.mixedSet(g), r.mixedDeployment(g), r.mixedJob(g), pod}
}

// mixedPod is a pod of a workload, and what selects it.
func (r *runner) mixedPod(g *group, workload string) (corev1.PodTemplateSpec, *metav1.LabelSelector) {
	pod := g.set(r.Cluster).Template
	pod.Labels[workloadLabel] = workload
	return pod, &metav1.LabelSelector{MatchLabels: pod.Labels}
}

func (g *group) mixedName(workload string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: g.namespace, Name: g.name + "-" + workload}
}

func (g *group) restarted(pod corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	pod.Annotations["podesta.dev/chaos-restarts"] = fmt.Sprint(g.restarts)
	return pod
}

func (r *runner) mixedSet(g *group) *appsv1.StatefulSet {
	pod, selector := r.mixedPod(g, "set")
	return &appsv1.StatefulSet{ObjectMeta: g.mixedName("set"), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(2)), Selector: selector,
		ServiceName: g.name, PodManagementPolicy: appsv1.OrderedReadyPodManagement, Template: g.restarted(pod)}}
}

func (r *runner) mixedDeployment(g *group) *appsv1.Deployment {
	pod, selector := r.mixedPod(g, "deployment")
	return &appsv1.Deployment{ObjectMeta: g.mixedName("deployment"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Selector: selector,
		Template: g.restarted(pod)}}
}

// mixedJob is a Job whose app does what the other apps do, unless it gets other arguments.
func (r *runner) mixedJob(g *group, args ...string) *batchv1.Job {
	pod, _ := r.mixedPod(g, "job")
	pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	if len(args) > 0 {
		pod.Spec.Containers[0].Args = args
	}
	return &batchv1.Job{ObjectMeta: g.mixedName("job"), Spec: batchv1.JobSpec{Template: pod}}
}

func (r *runner) applyAll(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		if err := r.ApplyObject(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// awaitJob awaits that a Job is complete.
func (r *runner) awaitJob(ctx context.Context, job *batchv1.Job) error {
	ctx, cancel := context.WithTimeoutCause(ctx, backend.Settling, fmt.Errorf("job %s is not complete within %v", job.Name, backend.Settling))
	defer cancel()
	for ctx.Err() == nil {
		watch, err := r.Watch(ctx, &batchv1.JobList{}, client.InNamespace(job.Namespace), client.MatchingFields{"metadata.name": job.Name})
		if err != nil {
			return err
		}
		for e := range watch.ResultChan() {
			if j, ok := e.Object.(*batchv1.Job); ok && j.Status.CompletionTime != nil {
				watch.Stop()
				r.table.say("%s: complete %.0f s after it began", job.Name, j.Status.CompletionTime.Sub(j.Status.StartTime.Time).Seconds())
				return nil
			}
		}
	}
	return context.Cause(ctx)
}
