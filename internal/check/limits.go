package check

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podesta-dev/podesta/internal/display"
)

// enough is the least CPU limit that does not slow elections down: with a smaller one the kernel
// stops all threads of the agent for a part of every 100 ms (docs/guides/inject.md).
var enough = resource.MustParse("1")

// limits checks that nothing throttles the agents, or has their pods refused.
func (b *book) limits(n *Namespace) {
	const check = "no CPU limit stops the agents"
	if n.Pods.Err == nil {
		var small []string
		for _, p := range n.live() {
			c := agent(&p)
			if c == nil {
				continue
			}
			if limit, ok := c.Resources.Limits[corev1.ResourceCPU]; ok && limit.Cmp(enough) < 0 {
				small = append(small, fmt.Sprintf("%s (%s)", p.Name, limit.String()))
			}
		}
		b.judge(check, Warning, display.Enumerate(small),
			"A throttled coordinator may lose its lease for no reason, or ask for a longer one. "+
				"Make the LimitRange's default 1 CPU or more.")
	}

	const refused = "limits of the namespace let the agents' pods be created"
	if unread(b, n.Limits, refused) || unread(b, n.Quotas, refused) {
		return
	}
	b.judge(refused, Failed, display.Enumerate(Refusing(n.Limits.Value, n.Quotas.Value)),
		"A LimitRange must take what agents have: "+describe(resources)+". Where a quota counts "+
			"limits.cpu, give them a limit by a LimitRange with a default of 1 CPU or more.")
}
