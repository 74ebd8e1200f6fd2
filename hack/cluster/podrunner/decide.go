package podrunner

import "time"

// plan is what to do next with a pod's containers, by their index.
type plan struct {
	start, terminate, kill []int
	// wake is when to decide again if nothing happens before; zero for never.
	wake time.Time
	// over: nothing runs and nothing will, the object can go.
	over bool
}

// decide says what a kubelet would do next. It changes nothing: who carries the plan out notes what
// happened.
func (p *podState) decide(now time.Time) plan {
	switch {
	case p.gone:
		return p.windDown(now, now)
	case !p.deadline.IsZero():
		return p.windDown(now, p.deadline)
	case p.refused != refusal{} || !p.mounted:
		return plan{}
	default:
		return p.advance(now)
	}
}

// advance starts what should run: sidecars one after the other, then the rest.
func (p *podState) advance(now time.Time) plan {
	var plan plan
	for i := range p.containers {
		c := &p.containers[i]
		p.tend(&plan, i, c, now)
		if c.sidecar && !c.passed {
			break
		}
	}
	return plan
}

// tend decides for one container alone.
func (p *podState) tend(plan *plan, i int, c *container, now time.Time) {
	switch {
	case c.running() && !c.unhealthy:
	case c.running() && !c.signalled:
		plan.terminate = append(plan.terminate, i)
		plan.wakeBy(c.killAt)
	case c.running() && now.Before(c.killAt):
		plan.wakeBy(c.killAt)
	case c.running():
		plan.kill = append(plan.kill, i)
	case now.Before(c.retryAt):
		plan.wakeBy(c.retryAt)
	default:
		plan.start = append(plan.start, i)
	}
}

// windDown ends everything by the deadline: first what is no sidecar, then the sidecars, the last
// one first.
func (p *podState) windDown(now, deadline time.Time) plan {
	var plan plan
	if !p.anyRunning(every) {
		plan.over = true
		return plan
	}
	if !now.Before(deadline) {
		for i := range p.containers {
			if p.containers[i].running() {
				plan.kill = append(plan.kill, i)
			}
		}
		return plan
	}
	plan.wakeBy(deadline)
	if p.anyRunning(notSidecar) {
		for i := range p.containers {
			if c := &p.containers[i]; c.running() && notSidecar(c) && !c.signalled {
				plan.terminate = append(plan.terminate, i)
			}
		}
		return plan
	}
	for i := len(p.containers) - 1; i >= 0; i-- {
		if c := &p.containers[i]; c.running() {
			if !c.signalled {
				plan.terminate = append(plan.terminate, i)
			}
			break
		}
	}
	return plan
}

func (p *plan) wakeBy(at time.Time) {
	if p.wake.IsZero() || at.Before(p.wake) {
		p.wake = at
	}
}
