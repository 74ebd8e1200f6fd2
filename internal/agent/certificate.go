package agent

import (
	"errors"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// errCertificate is for a process that no manager gives another certificate.
var errCertificate = errors.New(
	"the certificate has expired: make new ones with `agent keys`, and start the agent again")

// checkCertificate ends this process's part in its group when its certificate has ended. It comes
// before everything that the process says: no timer runs out while a machine is suspended.
func (a *agent) checkCertificate() {
	a.expired = a.Certified != nil && !a.Certified()
	if a.inUse != nil && a.expired {
		a.Logger.Error("the certificate has expired: this process takes part again when it has " +
			"one that counts, and a roster")
		e := node.Event{Type: node.Expired, Now: a.now}
		a.carryOut(a.node.Step(e))
		a.lapsed = true
	}
}

// lookAgain is how often a process looks whether its certificate counts again.
const lookAgain = time.Second

// wake is when the timer is to run out.
func (a *agent) wake() lease.Instant {
	if a.lapsed {
		return min(a.next, a.now.Boot+lookAgain)
	}
	return a.next
}

// comeBack has the manager say again which roster counts, when the certificate counts again: a
// clock had been set ahead for a while. It is not the roster that the process had: if the
// certificate is another one, the group may have gone on without this process. A process without a
// manager ends: whoever starts it again may have made another certificate.
func (a *agent) comeBack() error {
	if !a.lapsed {
		return nil
	}
	if a.Updates == nil {
		return errCertificate
	}
	if a.readClocks(); !a.expired {
		a.lapsed = false
		a.Logger.Info("the certificate counts again: this process takes part when it has a roster")
		a.Again()
	}
	return nil
}
