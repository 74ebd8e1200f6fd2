package check

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"github.com/podesta-dev/podesta/internal/display"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// manager checks that a manager runs, leads, can be reached and is trusted. It returns false if
// there is none.
func (b *book) manager(f *Facts) (there bool) {
	b.section = "manager"
	if !b.deployment(f) {
		return false
	}
	b.leads(f)
	b.reachable(f)
	b.trust(f)
	const rights = "the manager has its rights"
	if !unread(b, f.Manager.Denied, rights) {
		b.judge(rights, Failed, lacking("it lacks", f.Manager.Denied.Value),
			"Apply the roles and bindings "+
				"of its version again (config/rbac).")
	}
	return true
}

func (b *book) deployment(f *Facts) (there bool) {
	const check = "the manager's replicas are ready"
	m := &f.Manager
	if unread(b, m.Deployments, check) {
		return true // perhaps
	}
	if n := len(m.Deployments.Value); n != 1 {
		found, do := "there is no manager in namespace "+f.System, "Install Podesta "+
			"(docs/start/install.md), or give its namespace with --system-namespace."
		if n > 1 {
			found = fmt.Sprintf("namespace %s has %d Deployments with the manager's labels", f.System, n)
			do = "Delete those that are not wanted."
		}
		b.judge(check, Failed, found, do)
		return n > 0
	}
	d := m.Deployments.Value[0]
	want := ptr.Deref(d.Spec.Replicas, 1)
	found, bad := "", Warning
	if d.Status.ReadyReplicas < want || want == 0 {
		found = fmt.Sprintf("%d of %d are", d.Status.ReadyReplicas, want)
		if why := waiting(m.Pods.Value); why != "" {
			found += ": " + why
		}
	}
	if d.Status.ReadyReplicas == 0 {
		bad = Failed
	}
	b.judge(check, bad, found, fmt.Sprintf("See kubectl describe pods -n %s -l %s=manager.", f.System,
		"app.kubernetes.io/component"))
	b.skew(f, d.Spec.Template.Spec.Containers)
	return true
}

// waiting returns why containers of some pods do not run; empty if none says so.
func waiting(pods []corev1.Pod) string {
	var why []string
	for _, p := range pods {
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if reason := stuck(c); reason != "" {
				why = append(why, fmt.Sprintf("%s (%s)", p.Name, reason))
			}
		}
	}
	return display.Enumerate(why)
}

// stuck returns why a container does not start; empty if it does, or if it may still do so by
// itself.
func stuck(c corev1.ContainerStatus) string {
	w := c.State.Waiting
	if w == nil || w.Reason == "PodInitializing" || w.Reason == "ContainerCreating" {
		return ""
	}
	return w.Reason
}

// skew compares the manager's version, as its image names it, with this program's.
func (b *book) skew(f *Facts, containers []corev1.Container) {
	const check = "this program is of the manager's version"
	image := ""
	for _, c := range containers {
		if c.Name == "manager" {
			image = c.Image
		}
	}
	version := tag(image)
	switch {
	case version == "" || version == "latest" || f.Plugin == "development":
		b.unknown(check, fmt.Sprintf("the manager's image is %s, this program is %s", image, f.Plugin),
			"")
	case strings.TrimPrefix(version, "v") == strings.TrimPrefix(f.Plugin, "v"):
		b.note(check, version)
	default:
		b.judge(check, Warning, fmt.Sprintf("the manager is %s, this program is %s", version, f.Plugin),
			"Take the kubectl election of the manager's version.")
	}
}

// tag returns the tag of an image; empty if it has none.
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, version, found := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if !found {
		return ""
	}
	return version
}

// leads checks the Lease of the managers. Its holder renews it twice a second, by its own clock.
func (b *book) leads(f *Facts) {
	const check = "one replica leads"
	m := &f.Manager
	if unread(b, m.Lease, check) || unread(b, f.Clock, check) {
		return
	}
	l := m.Lease.Value
	if l == nil || ptr.Deref(l.Spec.HolderIdentity, "") == "" || l.Spec.RenewTime == nil ||
		l.Spec.LeaseDurationSeconds == nil {
		b.judge(check, Failed, "nobody holds the Lease podesta-manager",
			"Elections go on, but no status "+
				"is written, and no pod joins. If this lasts for more than 20 s, see the managers' logs.")
		return
	}
	age := f.Clock.Value.Server.Sub(l.Spec.RenewTime.Time)
	lasts := time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
	if age > lasts+f.Clock.Value.Within+time.Second {
		found := fmt.Sprintf("%s did, and has not renewed the Lease podesta-manager for %v",
			*l.Spec.HolderIdentity, age.Round(time.Second))
		b.judge(check, Failed, found, "Elections go on, but no status is written, and no pod joins. See "+
			"the managers' logs, and the clocks above.")
		return
	}
	b.note(check, *l.Spec.HolderIdentity)
}

// reachable checks that the Service podesta-roster selects the replica that leads.
func (b *book) reachable(f *Facts) {
	const check = "agents find the leading replica by the Service podesta-roster"
	if unread(b, f.Manager.Slices, check) {
		return
	}
	n := 0
	for _, s := range f.Manager.Slices.Value {
		for _, e := range s.Endpoints {
			if ptr.Deref(e.Conditions.Ready, true) {
				n++
			}
		}
	}
	found := ""
	if n == 0 {
		found = "it has no endpoint: no ready pod has the label " + v1.LeaderLabel
	}
	b.judge(check, Failed, found,
		"The leading manager labels its own pod: see its log. The manager needs "+
			"the right to patch pods.")
}

// trust checks the bundle that the manager keeps in its own namespace.
func (b *book) trust(f *Facts) {
	const check = "the manager's CA is published and valid"
	if unread(b, f.Manager.Trust, check) || unread(b, f.Clock, check) {
		return
	}
	found := untrusted(f.Manager.Trust.Value, f.Clock.Value.Server)
	b.judge(check, Failed, found,
		"The manager repairs it within seconds if it can: see its log, and the "+
			"events of namespace "+f.System+".")
}

// untrusted returns why a bundle is of no use; empty if a certificate in it is valid.
func untrusted(c *corev1.ConfigMap, now time.Time) string {
	if c == nil {
		return "there is no ConfigMap " + v1.TrustConfigMap
	}
	rest, certificates := []byte(c.Data[v1.TrustKey]), 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		if certificates++; now.Before(certificate.NotAfter) && !now.Before(certificate.NotBefore) {
			return ""
		}
	}
	if certificates == 0 {
		return "ConfigMap " + v1.TrustConfigMap + " has no certificate under " + v1.TrustKey
	}
	return fmt.Sprintf("none of the %d certificates in ConfigMap %s is valid now", certificates,
		v1.TrustConfigMap)
}
