package podrunner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

type probeKind string

const (
	startupProbe   probeKind = "Startup"
	readinessProbe probeKind = "Readiness"
	livenessProbe  probeKind = "Liveness"
)

// probeResult is reported when a probe's response changes.
type probeResult struct {
	index, pid int // the container, and which life of it
	kind       probeKind
	ok         bool
	message    string
}

// eager is how often a probe that has not succeeded yet is tried: a kubelet waits a whole period,
// which a developer who watches does not like. Failures count at whole periods only, as in a
// kubelet.
const eager = 100 * time.Millisecond

// tally turns single results into a response, by the thresholds.
type tally struct {
	successes, failures int32 // needed in a row
	ok, known           bool
	streak              int32
	last                bool
}

// add takes one result and tells whether the response changed.
func (t *tally) add(ok bool) (changed bool) {
	if ok != t.last {
		t.streak = 0
	}
	t.last = ok
	t.streak++
	need := t.failures
	if ok {
		need = t.successes
	}
	if t.streak < max(need, 1) || t.known && t.ok == ok {
		return false
	}
	t.ok, t.known = ok, true
	return true
}

// prober probes one life of a container.
type prober struct {
	address string
	report  func(probeResult) // returns early when the pod is done
	result  probeResult       // what all results share
}

// run probes until the context ends: startup first, then liveness and readiness.
func (p prober) run(ctx context.Context, c corev1.Container) {
	if c.StartupProbe != nil && !p.repeat(ctx, startupProbe, c.StartupProbe) {
		return
	}
	var probes sync.WaitGroup
	defer probes.Wait()
	if c.ReadinessProbe != nil {
		probes.Go(func() { p.repeat(ctx, readinessProbe, c.ReadinessProbe) })
	}
	if c.LivenessProbe != nil {
		probes.Go(func() { p.repeat(ctx, livenessProbe, c.LivenessProbe) })
	}
}

// repeat probes until the context ends; a startup probe until its first response, which it returns.
func (p prober) repeat(
	ctx context.Context, kind probeKind, probe *corev1.Probe,
) bool {
	period := time.Duration(max(probe.PeriodSeconds, 1)) * time.Second
	response := tally{successes: probe.SuccessThreshold, failures: probe.FailureThreshold}
	wait := time.Duration(probe.InitialDelaySeconds) * time.Second
	counted := time.Now().Add(wait) // failures before count nothing
	for {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
		err := try(ctx, probe, p.address)
		if ctx.Err() != nil {
			return false
		}
		wait = period
		if !response.ok && err != nil {
			wait = eager
			if time.Since(counted) < period {
				continue
			}
		}
		counted = time.Now()
		if !response.add(err == nil) {
			continue
		}
		result := p.result
		result.kind, result.ok = kind, err == nil
		if err != nil {
			result.message = err.Error()
		}
		p.report(result)
		if kind == startupProbe {
			return response.ok
		}
	}
}

// probeClient makes a connection a probe.
var probeClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// try probes once.
func try(ctx context.Context, probe *corev1.Probe, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(probe.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	at := net.JoinHostPort(address, strconv.Itoa(probe.HTTPGet.Port.IntValue()))
	url := "http://" + at + probe.HTTPGet.Path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := probeClient.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		err = fmt.Errorf("HTTP probe failed with status code %d", response.StatusCode)
	}
	return errors.Join(err, response.Body.Close())
}
