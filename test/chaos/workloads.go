package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/register"
)

// workloadLabel tells the pods of one group's workloads apart.
const workloadLabel = "workload"

// mixWorkloads has groups whose pods all kinds of workloads make, before the group is there and
// after, and rolls those that can be rolled: each must come up and come through it. A Job whose app
// ends must end, though its agent does not.
func (r *runner) mixWorkloads(ctx context.Context) error {
	const namespace = "chaos-workloads"
	// Six pods: two of a StatefulSet, which makes them in order, two of a Deployment, one of a
	// Job, and one more.
	mixed := func(name string) *group {
		return &group{
			namespace: namespace,
			name:      name,
			algorithm: v1.Bully,
			safety:    v1.Guarded,
			size:      6,
			now:       6,
			never:     true,
			equals:    true, // a Deployment's pods have no ordinals
			service:   true,
		}
	}
	podsFirst, groupFirst := mixed("pods-first"), mixed("group-first")
	r.table.say("\ntwo groups, each of a StatefulSet, a Deployment, a Job and a pod without an owner")
	defer r.watching(ctx, namespace)()
	ending := r.job(mixed("of-no-group"), "--help")
	objects := []client.Object{backend.Namespace(namespace), ending, groupFirst.election()}
	for _, g := range []*group{groupFirst, podsFirst} {
		pod, bare := r.workloadPod(g, "pod"), meta(g, "pod")
		bare.Labels = pod.Labels
		objects = append(append(objects, r.rolled(g)...), r.job(g),
			&corev1.Pod{ObjectMeta: bare, Spec: pod.Spec})
	}
	if err := r.applyAll(ctx, append(objects, podsFirst.election())...); err != nil {
		return err
	}
	err := backend.Each([]*group{podsFirst, groupFirst}, func(g *group) error {
		return r.comeUpAndRoll(ctx, g)
	})
	if err != nil {
		return err
	}
	if err := r.awaitJob(ctx, ending); err != nil {
		return err
	}
	if err := r.checkRolled(ctx, namespace, podsFirst, groupFirst); err != nil {
		return err
	}
	return r.backend.Clear(ctx, namespace)
}

// checkRolled checks what the apps of these groups were told and have written. What their agents
// held is not looked for: a Deployment's pod does not have its group's name.
func (r *runner) checkRolled(ctx context.Context, namespace string, groups ...*group) error {
	h, err := r.gather(ctx, namespace, register.Now())
	if err != nil {
		return err
	}
	for _, g := range groups {
		became := h.Guarded(g.name)
		if became.Told == 0 || became.Writes.Accepted == 0 {
			r.problem(g.name + ": no app was told that it may act, or none wrote: nothing was tried")
		}
		for _, v := range became.Violations {
			r.problem(fmt.Sprintf("%s: %s: %s", g.name, v.Rule, v.Text))
		}
	}
	return nil
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
	if len(ended) != 4 { // of the set and of the deployment: or nothing would be awaited
		return fmt.Errorf("%s: %d pods are to be replaced, want 4", g.name, len(ended))
	}
	g.restarts++
	if err := r.applyAll(ctx, r.rolled(g)...); err != nil {
		return err
	}
	if err := r.settled(ctx, g, ended); err != nil {
		return err
	}
	r.table.say("%s: well after %.1f s, and again %.1f s after a rolling update began", g.name,
		up.Sub(begun).Seconds(), register.Now().Sub(up).Seconds())
	return nil
}

// rolled returns a group's workloads that a change of their pods' template rolls.
func (r *runner) rolled(g *group) []client.Object {
	set, deployment := r.workloadPod(g, "set"), r.workloadPod(g, "deployment")
	selector := func(pod corev1.PodTemplateSpec) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: pod.Labels}
	}
	return []client.Object{
		&appsv1.StatefulSet{ObjectMeta: meta(g, "set"), Spec: appsv1.StatefulSetSpec{
			Replicas:            new(int32(2)),
			Selector:            selector(set),
			ServiceName:         g.name,
			PodManagementPolicy: appsv1.OrderedReadyPodManagement,
			Template:            set,
		}},
		&appsv1.Deployment{ObjectMeta: meta(g, "deployment"), Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: selector(deployment),
			Template: deployment,
		}},
	}
}

// job is a Job whose app does what the other apps do, unless it gets other arguments.
func (r *runner) job(g *group, args ...string) *batchv1.Job {
	pod := r.workloadPod(g, "job")
	pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	if len(args) > 0 {
		pod.Spec.Containers[0].Args = args
	}
	return &batchv1.Job{ObjectMeta: meta(g, "job"), Spec: batchv1.JobSpec{Template: pod}}
}

func (r *runner) workloadPod(g *group, workload string) corev1.PodTemplateSpec {
	pod := g.set(r.Cluster).Template
	pod.Labels[workloadLabel] = workload
	return pod
}

func meta(g *group, workload string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: g.namespace, Name: g.name + "-" + workload}
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
	ctx, cancel := backend.Within(ctx, backend.Settling, "job "+job.Name+" is not complete")
	defer cancel()
	return r.Until(ctx, "the end of job "+job.Name, &batchv1.JobList{},
		func(object runtime.Object) bool {
			j, ok := object.(*batchv1.Job)
			if !ok || j.Status.CompletionTime == nil {
				return false
			}
			r.table.say("%s: complete %.0f s after it began", job.Name,
				j.Status.CompletionTime.Sub(j.Status.StartTime.Time).Seconds())
			return true
		}, client.InNamespace(job.Namespace), client.MatchingFields{"metadata.name": job.Name})
}
