package group

import (
	"cmp"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// preemptionOf returns what spec.preemption comes to in a Guarded group, with the defaults that the
// API has for it; nil in a Classic one.
func preemptionOf(group *v1.ElectionGroup) *v1.Preemption {
	if !guarded(group) {
		return nil
	}
	var p v1.Preemption
	if given := group.Spec.Preemption; given != nil {
		p = *given
	}
	p.Policy = cmp.Or(p.Policy, v1.Delayed)
	if p.Policy == v1.Delayed && p.StableSeconds == nil {
		p.StableSeconds = new(int32(5))
	}
	return &p
}
