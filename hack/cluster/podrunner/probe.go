package podrunner

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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
	if c.StartupProbe != nil && !p.repeat(ctx, c, startupProbe, c.StartupProbe) {
		return
	}
	var probes sync.WaitGroup
	defer probes.Wait()
	if c.ReadinessProbe != nil {
		probes.Go(func() { p.repeat(ctx, c, readinessProbe, c.ReadinessProbe) })
	}
	if c.LivenessProbe != nil {
		probes.Go(func() { p.repeat(ctx, c, livenessProbe, c.LivenessProbe) })
	}
}

// repeat probes until the context ends; a startup probe until its first response, which it returns.
func (p prober) repeat(
	ctx context.Context, c corev1.Container, kind probeKind, probe *corev1.Probe,
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
		err := try(ctx, c, probe, p.address)
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

// try probes once.
func try(ctx context.Context, c corev1.Container, probe *corev1.Probe, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(probe.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	if probe.HTTPGet != nil {
		return httpGet(ctx, c, probe.HTTPGet, address)
	}
	at, err := target(c, probe.TCPSocket.Host, probe.TCPSocket.Port, address)
	if err != nil {
		return err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", at)
	if err != nil {
		return err
	}
	return conn.Close()
}

// probeClient makes a connection a probe and, as a kubelet does, trusts any certificate.
var probeClient = &http.Client{Transport: &http.Transport{
	DisableKeepAlives: true,
	TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
}}

func httpGet(
	ctx context.Context, c corev1.Container, get *corev1.HTTPGetAction, address string,
) error {
	at, err := target(c, get.Host, get.Port, address)
	if err != nil {
		return err
	}
	scheme := "http"
	if get.Scheme == corev1.URISchemeHTTPS {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+at+get.Path, nil)
	if err != nil {
		return err
	}
	for _, header := range get.HTTPHeaders {
		request.Header.Add(header.Name, header.Value)
	}
	response, err := probeClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 10<<10))
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return fmt.Errorf("HTTP probe failed with status code %d", response.StatusCode)
	}
	return nil
}

// target resolves a probe's port, which may be the name of a container's port.
func target(
	c corev1.Container, host string, port intstr.IntOrString, address string,
) (string, error) {
	if host == "" || host == "127.0.0.1" || host == "localhost" {
		host = address
	}
	number := port.IntValue()
	if port.Type == intstr.String {
		for _, named := range c.Ports {
			if named.Name == port.StrVal {
				number = int(named.ContainerPort)
			}
		}
	}
	if number < 1 || number > 65535 {
		return "", fmt.Errorf("container %s has no port %s", c.Name, port.String())
	}
	return net.JoinHostPort(host, strconv.Itoa(number)), nil
}
