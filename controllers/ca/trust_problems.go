package ca

import (
	"fmt"
	"strings"
	"sync"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/retry"
)

// TrustProblems are the namespaces whose ConfigMap does not hold the CA bundle, because it cannot
// be written. Safe for concurrent use.
type TrustProblems struct {
	mu       sync.Mutex
	all      map[string]string    // by namespace, in a sentence
	failing  map[string]time.Time // since when the last writes have failed, by namespace
	onChange func(namespace string)
}

// NewTrustProblems returns no problems.
func NewTrustProblems() *TrustProblems {
	return &TrustProblems{all: map[string]string{}, failing: map[string]time.Time{}}
}

// In returns what is wrong in a namespace, and what to do, in a sentence; empty: nothing.
func (p *TrustProblems) In(namespace string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[namespace]
}

// OnChange has a function called with each namespace in which a problem begins, changes or ends. It
// must not block.
func (p *TrustProblems) OnChange(call func(namespace string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onChange = call
}

// transient is for how long writes may fail that the API server does not refuse for good: it is
// busy, or away for a moment. Then no person is called.
const transient = 5 * time.Second

// wrote takes down what came of a write to the ConfigMap of a namespace; the error is nil if it
// succeeded.
func (p *TrustProblems) wrote(namespace string, err error, now time.Time) {
	if err != nil && retry.Refused(err) == "" {
		p.mu.Lock()
		since, found := p.failing[namespace]
		if !found {
			since = now
			p.failing[namespace] = now
		}
		p.mu.Unlock()
		if now.Sub(since) < transient {
			return
		}
	}
	p.note(namespace, unrepaired(namespace, err))
}

// note takes down what is wrong in a namespace; empty: nothing.
func (p *TrustProblems) note(namespace, problem string) {
	p.mu.Lock()
	changed, call := p.all[namespace] != problem, p.onChange
	if problem == "" {
		delete(p.all, namespace)
		delete(p.failing, namespace)
	} else {
		p.all[namespace] = problem
	}
	p.mu.Unlock()
	if changed && call != nil {
		call(namespace)
	}
}

// longestCause is the most bytes of an error that people are told.
const longestCause = 300

// unrepaired tells that the ConfigMap could not be written, and what to do; empty if there is no
// error.
func unrepaired(namespace string, err error) string {
	if err == nil {
		return ""
	}
	cause := err.Error()
	if len(cause) > longestCause {
		cause = strings.ToValidUTF8(cause[:longestCause], "") + "…"
	}
	return fmt.Sprintf("the ConfigMap %s, by which new agents know the manager, does not hold its CA "+
		"bundle, and the manager cannot restore it, so pods that start may not join: %s. Find out who "+
		"changes it. If finalizers keep it from being deleted, remove them (kubectl patch configmap %s "+
		"-n %s --type=merge -p '{\"metadata\":{\"finalizers\":null}}'): the manager creates it again. "+
		"If a webhook or a policy refuses the manager's write, exempt the manager",
		v1.TrustConfigMap, cause, v1.TrustConfigMap, namespace)
}
