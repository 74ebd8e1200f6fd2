package check

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// resources are those of the container that internal/inject adds; a test compares them.
var resources = corev1.ResourceRequirements{
	Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
	Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
}

func describe(r corev1.ResourceRequirements) string {
	return fmt.Sprintf("requests of %s CPU and %s memory, and a limit of %s memory",
		r.Requests.Cpu(), r.Requests.Memory(), r.Limits.Memory())
}

// Refusing returns what in a namespace has the API server refuse pods for their agents' sake.
func Refusing(ranges []corev1.LimitRange, quotas []corev1.ResourceQuota) []string {
	agent := withDefaults(ranges)
	return append(refusingRanges(ranges, agent), refusingQuotas(quotas, agent)...)
}

// containers returns what LimitRanges say of single containers. What they say of whole pods is left
// out: it depends on the pods' other containers, which are not known before there are pods.
func containers(ranges []corev1.LimitRange) iter.Seq2[string, corev1.LimitRangeItem] {
	return func(yield func(string, corev1.LimitRangeItem) bool) {
		for _, r := range ranges {
			for _, item := range r.Spec.Limits {
				if item.Type == corev1.LimitTypeContainer && !yield(r.Name, item) {
					return
				}
			}
		}
	}
}

// withDefaults returns what an agent has after LimitRanges have given it their defaults.
func withDefaults(ranges []corev1.LimitRange) corev1.ResourceRequirements {
	agent := *resources.DeepCopy()
	for _, item := range containers(ranges) {
		agent.Limits = filled(agent.Limits, item.Default)
		agent.Requests = filled(agent.Requests, item.DefaultRequest)
	}
	return agent
}

func filled(list, defaults corev1.ResourceList) corev1.ResourceList {
	all := maps.Clone(defaults)
	if all == nil {
		return list
	}
	maps.Copy(all, list)
	return all
}

// refusingRanges returns the bounds of LimitRanges that refuse an agent, by the rules of
// Kubernetes' admission plugin LimitRanger: what has a bound must be given.
func refusingRanges(ranges []corev1.LimitRange, agent corev1.ResourceRequirements) (why []string) {
	for name, item := range containers(ranges) {
		refuses := func(bound string, list corev1.ResourceList,
			takes func(r corev1.ResourceName, bound resource.Quantity) bool) {
			for _, r := range slices.Sorted(maps.Keys(list)) {
				if q := list[r]; !takes(r, q) {
					why = append(why, fmt.Sprintf("LimitRange %s: %s %s is %s", name, bound, r, &q))
				}
			}
		}
		refuses("min", item.Min, func(r corev1.ResourceName, least resource.Quantity) bool {
			request, given := agent.Requests[r]
			limit, limited := agent.Limits[r]
			return given && request.Cmp(least) >= 0 && (!limited || limit.Cmp(least) >= 0)
		})
		refuses("max", item.Max, func(r corev1.ResourceName, most resource.Quantity) bool {
			request := agent.Requests[r]
			limit, limited := agent.Limits[r]
			return limited && limit.Cmp(most) <= 0 && request.Cmp(most) <= 0
		})
		refuses("maxLimitRequestRatio", item.MaxLimitRequestRatio,
			func(r corev1.ResourceName, most resource.Quantity) bool {
				request, limit := agent.Requests[r], agent.Limits[r]
				return !request.IsZero() && !limit.IsZero() && float64(limit.MilliValue())/
					float64(request.MilliValue())*1000 <= float64(most.MilliValue())
			})
	}
	return why
}

// refusingQuotas returns the quotas that count CPU limits, if an agent has none.
func refusingQuotas(quotas []corev1.ResourceQuota,
	agent corev1.ResourceRequirements) (why []string) {
	if _, limited := agent.Limits[corev1.ResourceCPU]; limited {
		return nil
	}
	for _, q := range quotas {
		if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			continue // it counts some pods only, and whether these are among them is not known here
		}
		if _, counts := q.Spec.Hard[corev1.ResourceLimitsCPU]; counts {
			why = append(why, "ResourceQuota "+q.Name+" counts limits.cpu")
		}
	}
	return why
}
