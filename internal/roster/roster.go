package roster

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// The limits of a roster, which are those of the API.
const (
	MaxProcesses = 100
	MaxPriority  = 1_000_000
	maxName      = 253
	maxUID       = 64
	minHeartbeat = 10 * time.Millisecond
	maxHeartbeat = time.Minute
	maxTimeout   = 10 * time.Minute
	maxLease     = 10 * time.Minute
	// of a lease: one may be lost, and the next may be late, before the leaseholder has to stop
	leastBeats = 4
	maxStable  = time.Hour

	// maxGeneration keeps epochs below 2⁵³ (see internal/lease).
	maxGeneration = 1<<33 - 1

	// maxRules is the highest rules level that may be named.
	maxRules = 1000
)

// The values of Roster.Safety.
const (
	Classic = "Classic"
	Guarded = "Guarded"
)

// The values of Roster.Preemption.
const (
	Always  = "Always"
	Delayed = "Delayed"
	Never   = "Never"
)

// LinkPort is the port of an agent's link server, unless its pod says otherwise.
const LinkPort = 4041

// Roster lists the members of a group and describes how they elect. A Generation identifies its
// content: two rosters of a group with the same generation are equal except for AppHealth and
// LongestLease. Neither affects an election, so they may change without a new generation, which
// would give the coordinator of a Guarded group a new epoch.
type Roster struct {
	Namespace, Group string
	// of the group object; only generations of the same object are comparable; empty outside
	// Kubernetes
	GroupUID           string
	Generation         int64
	Algorithm, Safety  string
	Heartbeat, Timeout time.Duration
	// how long a vote binds a voter; may be zero with safety Classic, as may Preemption and Stable
	Lease time.Duration
	// LeaseMinimum is the shortest lease that a leaseholder asks for (LH10); 0: Lease
	LeaseMinimum time.Duration
	// LongestLease is the longest lease that a promise under this or an earlier generation may still
	// have. Agents do not need it: it is for a manager that adopts this roster (MC10). It may become
	// shorter within a generation; a static file does not have it.
	LongestLease time.Duration
	// Rules is the rules level in force in a Guarded group (MC11); 0 counts as 1.
	Rules int32
	// Always, Delayed or Never: when a process takes over from a running coordinator below it
	Preemption string
	Stable     time.Duration // for Delayed: how long that process must have answered before
	AppHealth  AppHealth     // how each agent probes its app
	Processes  []Process     // in ring order
	// Signed is this roster as the manager signed it, which is what agents pass on to each other;
	// empty: it came from no manager. Equal does not compare it: a signature is renewed with the
	// manager's certificate.
	Signed []byte
}

// Hold is why no further process can become a voter now, as the manager tells agents. The zero Hold
// says that nothing holds them up.
type Hold struct {
	Reason string // a sentence for people
	Ready  bool   // it may last: pods that wait are to count as ready
}

// Process is a member of the group.
type Process struct {
	Name, UID string
	Address   string // HOST:PORT of its link server; empty while it has none
	Priority  int32  // a process with priority 0 never coordinates
	Voter     bool
	// identifies its agent's state directory; empty if it has not joined or, in a static file, for
	// any
	StateID string
	// Created is when its pod was made, in seconds since 1970; 0: that is not known, as in a static
	// file. Of candidates that are equal otherwise the youngest is the heir (LH8).
	Created int64
	// Grace is how long its pod may take to end, if it is being deleted; otherwise 0.
	Grace time.Duration
}

// Find returns the process with that name.
func (r Roster) Find(name string) (Process, bool) {
	i := slices.IndexFunc(r.Processes, func(p Process) bool { return p.Name == name })
	if i < 0 {
		return Process{}, false
	}
	return r.Processes[i], true
}

// Has reports whether the pod with that name and UID is on the roster. A new pod with an old name
// is not.
func (r Roster) Has(name, uid string) bool {
	p, ok := r.Find(name)
	return ok && p.UID == uid
}

// Equal reports whether two rosters are the same in every field but Signed.
func (r Roster) Equal(o Roster) bool {
	return r.Namespace == o.Namespace && r.Group == o.Group && r.GroupUID == o.GroupUID &&
		r.Generation == o.Generation &&
		r.Algorithm == o.Algorithm && r.Safety == o.Safety && r.Heartbeat == o.Heartbeat &&
		r.Timeout == o.Timeout &&
		r.Lease == o.Lease && r.LeaseMinimum == o.LeaseMinimum && r.LongestLease == o.LongestLease &&
		r.Preemption == o.Preemption && r.Stable == o.Stable &&
		r.Rules == o.Rules && r.AppHealth == o.AppHealth &&
		slices.Equal(r.Processes, o.Processes)
}

// Validate returns an error that says what is wrong with a roster and what would be valid. It does
// not check the algorithm's name, because only the agent knows the algorithms.
func (r Roster) Validate() error {
	return errors.Join(r.validateGroup(), r.validateTiming(), r.validateLease(),
		r.AppHealth.validate(), r.validateProcesses())
}

func (r Roster) validateGroup() error {
	switch {
	case !isName(r.Namespace):
		return fmt.Errorf("namespace %q: must be lower case letters, digits, '-' and '.'",
			r.Namespace)
	case !isName(r.Group):
		return fmt.Errorf("group %q: must be lower case letters, digits, '-' and '.'", r.Group)
	case r.GroupUID != "" && !isUID(r.GroupUID):
		return fmt.Errorf("group UID %q: must be letters, digits and '-', '.', '_', at most "+
			"%d bytes", r.GroupUID, maxUID)
	case r.Generation < 1 || r.Generation > maxGeneration:
		return fmt.Errorf("generation %d: must be between 1 and %d", r.Generation,
			int64(maxGeneration))
	case r.Algorithm == "" || len(r.Algorithm) > maxName:
		return errors.New(`algorithm: must be the name of an algorithm, such as "Bully"`)
	case r.Safety != Classic && r.Safety != Guarded:
		return fmt.Errorf("safety %q: must be %s or %s", r.Safety, Classic, Guarded)
	}
	return nil
}

func (r Roster) validateTiming() error {
	switch {
	case r.Heartbeat < minHeartbeat || r.Heartbeat > maxHeartbeat:
		return fmt.Errorf("heartbeat %v: must be between %v and %v", r.Heartbeat, minHeartbeat,
			maxHeartbeat)
	case r.Timeout < 2*r.Heartbeat || r.Timeout > maxTimeout:
		return fmt.Errorf("timeout %v: must be at least two heartbeats (%v) and at most %v",
			r.Timeout, 2*r.Heartbeat,
			maxTimeout)
	}
	return nil
}

func (r Roster) validateLease() error {
	switch {
	case r.Lease < 0 || r.Lease > maxLease:
		return fmt.Errorf("lease %v: must be at most %v", r.Lease, maxLease)
	case r.LeaseMinimum < 0 || r.LeaseMinimum > r.Lease:
		return fmt.Errorf("shortest lease %v: must be at most the lease (%v)", r.LeaseMinimum, r.Lease)
	case r.LeaseMinimum > 0 && r.LeaseMinimum < lease.LeastLease:
		return fmt.Errorf("shortest lease %v: must be at least %v", r.LeaseMinimum, lease.LeastLease)
	case r.LongestLease < 0 || r.LongestLease > maxLease:
		return fmt.Errorf("longest lease %v: must be at most %v", r.LongestLease, maxLease)
	case r.Rules < 0 || r.Rules > maxRules:
		return fmt.Errorf("rules level %d: must be between 0 and %d", r.Rules, maxRules)
	case r.Stable < 0 || r.Stable > maxStable:
		return fmt.Errorf("preemption: stable for %v: must be at most %v", r.Stable, maxStable)
	case r.Preemption == "" && r.Safety == Classic:
		return nil
	case r.Preemption != Always && r.Preemption != Delayed && r.Preemption != Never:
		return fmt.Errorf("preemption %q: must be %s, %s or %s", r.Preemption, Always, Delayed,
			Never)
	case r.Safety == Guarded && r.Lease < leastBeats*r.Heartbeat:
		return fmt.Errorf("lease %v: must be at least %d heartbeats (%v) with safety %s", r.Lease,
			leastBeats,
			leastBeats*r.Heartbeat, Guarded)
	}
	return nil
}

func (r Roster) validateProcesses() error {
	if len(r.Processes) > MaxProcesses {
		return fmt.Errorf("%d processes: a group has at most %d", len(r.Processes), MaxProcesses)
	}
	names := make(map[string]bool, len(r.Processes))
	for i, p := range r.Processes {
		if err := p.validate(); err != nil {
			return fmt.Errorf("process %d: %w", i, err)
		}
		if names[p.Name] {
			return fmt.Errorf("process %d: %q is on the roster twice", i, p.Name)
		}
		if r.Safety == Guarded && p.Voter && p.StateID == "" {
			return fmt.Errorf("process %d: %s votes, and a voter of a Guarded group that lost its "+
				"state directory would break its promises, so the roster must name the directory: "+
				"set stateID to what `agent init --state-dir DIR` prints; or set safety to Classic, if "+
				"two may coordinate for a while", i, p.Name)
		}
		names[p.Name] = true
	}
	return nil
}

func (p Process) validate() error {
	if !isName(p.Name) {
		return fmt.Errorf("name %q: must be lower case letters, digits, '-' and '.', at most "+
			"%d bytes", p.Name, maxName)
	}
	if !isUID(p.UID) {
		return fmt.Errorf("%s: uid %q: must be letters, digits and '-', '.', '_', at most %d bytes",
			p.Name, p.UID, maxUID)
	}
	if p.Priority < 0 || p.Priority > MaxPriority {
		return fmt.Errorf("%s: priority %d: must be between 0 and %d", p.Name, p.Priority,
			MaxPriority)
	}
	if p.Created < 0 || p.Grace < 0 {
		return fmt.Errorf("%s: created %d, grace period %v: neither can be negative", p.Name, p.Created,
			p.Grace)
	}
	if p.StateID != "" && !isUID(p.StateID) {
		return fmt.Errorf("%s: state ID %q: must be letters, digits and '-', '.', '_', at most "+
			"%d bytes", p.Name, p.StateID, maxUID)
	}
	if p.Address == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(p.Address); err != nil || host == "" || port == "" ||
		len(p.Address) > maxName+6 {
		return fmt.Errorf("%s: address %q: must be HOST:PORT", p.Name, p.Address)
	}
	return nil
}

// isName accepts roughly what Kubernetes accepts as the name of a pod, a group or a namespace.
// Names end up in URIs, labels and log lines, so nothing else may pass.
func isName(s string) bool {
	return len(s) > 0 && len(s) <= maxName && all(s, func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.'
	})
}

func isUID(s string) bool {
	return len(s) > 0 && len(s) <= maxUID && all(s, func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' ||
			c == '.' || c == '_'
	})
}

func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}
