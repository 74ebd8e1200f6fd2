package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/podesta-dev/podesta/internal/display"
)

// A status does not say how old it is: the manager writes it only when something changes. But the
// manager that leads renews its Lease twice a second. While it does, statuses are up to date.

// leaseName is the Lease of the managers.
const leaseName = "podesta-manager"

const (
	// lookEvery is how often a Lease is read when that is not over with one reading, and checkEvery
	// how often a watch reads it.
	lookEvery, checkEvery = 500 * time.Millisecond, 2 * time.Second
	// checkTime is how long the API server may take to answer one such question.
	checkTime = 3 * time.Second
	// lastLook is when a command takes a Lease for abandoned that it has not seen renewed.
	lastLook = 2 * time.Second
)

// lookout tells how current statuses are.
type lookout struct {
	kube   apiClient
	system string // the manager's namespace
	now    func() time.Time
}

// read returns the managers' Lease; nil if there is none.
func (l lookout) read(ctx context.Context) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	lease := &coordinationv1.Lease{}
	key := types.NamespacedName{Namespace: l.system, Name: leaseName}
	err := l.kube.get(ctx, leasesResource, key, lease)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	return lease, err
}

// once returns how current statuses are. It reads the Lease once if it was renewed a moment ago by
// this machine's clock. Clocks may differ: otherwise it waits to see it renewed.
func (l lookout) once(ctx context.Context) display.Current {
	first, err := l.read(ctx)
	if err == nil && first != nil && first.Spec.RenewTime != nil && held(first) &&
		l.now().Sub(first.Spec.RenewTime.Time).Abs() <= patienceOf(first) {
		return l.renewed(first)
	}
	for range lastLook / lookEvery {
		if err != nil {
			return l.unknown(err)
		}
		select {
		case <-ctx.Done():
			return l.unknown(ctx.Err())
		case <-time.After(lookEvery):
		}
		var again *coordinationv1.Lease
		if again, err = l.read(ctx); err == nil && held(again) && !sameRenewal(first, again) {
			return l.renewed(again)
		}
	}
	if err != nil {
		return l.unknown(err)
	}
	return l.abandoned(first)
}

// renewed is how current statuses are while a manager renews this Lease.
func (l lookout) renewed(lease *coordinationv1.Lease) display.Current {
	at := l.now()
	if t := lease.Spec.RenewTime; t != nil && at.Sub(t.Time).Abs() <= patienceOf(lease) {
		at = t.Time
	}
	return display.Current{AsOf: &at, By: holder(lease)}
}

// abandoned is how current statuses are while nobody renews this Lease; nil if there is none.
func (l lookout) abandoned(lease *coordinationv1.Lease) display.Current {
	c := display.Current{Stale: true}
	switch {
	case lease == nil:
		c.Why = fmt.Sprintf("there is no Lease %s in namespace %s, so no manager runs there (for "+
			"another namespace: --system-namespace)", leaseName, display.Printable(l.system, 253))
		return c
	case !held(lease):
		c.Why = fmt.Sprintf("no manager leads: nobody holds the Lease %s in namespace %s", leaseName,
			display.Printable(l.system, 253))
	default:
		c.Why = fmt.Sprintf("no manager leads: %s has stopped renewing the Lease %s in namespace %s",
			holder(lease), leaseName, display.Printable(l.system, 253))
	}
	if t := lease.Spec.RenewTime; t != nil {
		c.AsOf = &t.Time
	}
	return c
}

// unknown is how current statuses are if the Lease cannot be read.
func (l lookout) unknown(err error) display.Current {
	why := said(fmt.Sprintf("get the Lease %s in namespace %s", leaseName,
		display.Printable(l.system, 253)), err)
	return display.Current{Why: why.Error()}
}

func held(l *coordinationv1.Lease) bool {
	return l != nil && ptr.Deref(l.Spec.HolderIdentity, "") != ""
}

// holder is the pod that holds a Lease: an identity is the pod's name, and a random end.
func holder(l *coordinationv1.Lease) string {
	pod, _, _ := strings.Cut(ptr.Deref(l.Spec.HolderIdentity, ""), "_")
	return display.Printable(pod, 253)
}

// patienceOf is for how long a Lease that is in use is not renewed at most: half of its duration.
func patienceOf(l *coordinationv1.Lease) time.Duration {
	return time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 8)) * time.Second / 2
}

func sameRenewal(a, b *coordinationv1.Lease) bool {
	return a != nil && b != nil && a.Spec.RenewTime.Equal(b.Spec.RenewTime) &&
		ptr.Deref(a.Spec.HolderIdentity, "") == ptr.Deref(b.Spec.HolderIdentity, "")
}

// pulse tells how current statuses are again and again. It compares no clocks: it counts for how
// long the Lease has not been renewed.
type pulse struct {
	lookout
	last  *coordinationv1.Lease
	since time.Time // when last was first seen
	good  *time.Time
}

// look reads the Lease. The error says that the API server has not answered.
func (p *pulse) look(ctx context.Context) (display.Current, error) {
	lease, err := p.read(ctx)
	switch {
	case err != nil && (unreachable(err) || errors.Is(err, context.DeadlineExceeded)):
		return p.silent(err), err
	case err != nil:
		at := p.now()
		p.good = &at
		return p.unknown(err), nil
	case held(lease) && !sameRenewal(p.last, lease):
		p.last, p.since = lease, time.Now()
	case held(lease) && time.Since(p.since) <= patienceOf(lease):
	default:
		return p.abandoned(lease), nil
	}
	c := p.renewed(lease)
	p.good = c.AsOf
	return c, nil
}

// silent is how current statuses are when the API server does not answer.
func (p *pulse) silent(err error) display.Current {
	return display.Current{
		AsOf:  p.good,
		Stale: true,
		Why:   "the API server does not answer: " + display.Printable(err.Error(), 300),
	}
}

// stale returns the error with which a command ends that has shown what nobody updates; nil if it
// is up to date, or if that is not known.
func stale(c display.Current) error {
	if !c.Stale {
		return nil
	}
	return &failure{exitStale, "what was shown is old: " + c.Why, nil}
}
