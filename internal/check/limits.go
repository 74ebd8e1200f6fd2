package check

import (
	"fmt"
	"github.com/podesta-dev/podesta/internal/display"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
				"Exempt the agents from the LimitRange, or make its default 1 CPU or more.")
	}

	const refused = "limits of the namespace let the agents' pods be created"
	if unread(b, n.Limits, refused) || unread(b, n.Quotas, refused) {
		return
	}
	b.judge(refused, Failed, display.Enumerate(refusing(n)),
		"Give agents a limit by a LimitRange with a default of 1 "+
			"CPU or more, or take limits.cpu from the quota.")
}

// refusing returns the quotas that count CPU limits, which an agent does not have, if no LimitRange
// gives it one.
func refusing(n *Namespace) (names []string) {
	for _, r := range n.Limits.Value {
		for _, item := range r.Spec.Limits {
			_, given := item.Default[corev1.ResourceCPU]
			if given && item.Type == corev1.LimitTypeContainer {
				return nil
			}
		}
	}
	for _, q := range n.Quotas.Value {
		if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			continue // it counts some pods only, and whether these are among them is not known here
		}
		if _, counts := q.Spec.Hard[corev1.ResourceLimitsCPU]; counts {
			names = append(names, "ResourceQuota "+q.Name+" counts limits.cpu")
		}
	}
	return names
}

// lists reports whether a list of ports and ranges of ports has all of some.
func lists(text string, ports ...int) bool {
	for _, want := range ports {
		found := false
		for item := range strings.SplitSeq(text, ",") {
			from, to, isRange := strings.Cut(strings.TrimSpace(item), "-")
			if !isRange {
				to = from
			}
			first, err := strconv.Atoi(from)
			last, err2 := strconv.Atoi(to)
			found = found || strings.TrimSpace(item) == "*" ||
				err == nil && err2 == nil && first <= want && want <= last
		}
		if !found {
			return false
		}
	}
	return true
}
