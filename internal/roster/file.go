package roster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/podesta-dev/podesta/internal/timing"
)

// maxFile is the largest file that Parse reads, in bytes: 100 processes with the longest names fit.
const maxFile = 1 << 20

// file is the JSON form of a Roster, with units in the names as in the API.
type file struct {
	Namespace  string        `json:"namespace"`
	Group      string        `json:"group"`
	Generation int64         `json:"generation"`
	Algorithm  string        `json:"algorithm"`
	Safety     string        `json:"safety"`
	Timing     fileTiming    `json:"timing"`
	Rules      int32         `json:"rules,omitempty"`
	Preemption filePolicy    `json:"preemption"`
	AppHealth  *fileHealth   `json:"appHealth,omitempty"`
	Processes  []fileProcess `json:"processes"`
}

// fileTiming is a profile and the fields that override it. Those that are absent or zero are the
// profile's.
type fileTiming struct {
	Profile                  string `json:"profile,omitempty"`
	HeartbeatMilliseconds    int64  `json:"heartbeatMilliseconds,omitempty"`
	TimeoutMilliseconds      int64  `json:"timeoutMilliseconds,omitempty"`
	LeaseMaximumMilliseconds int64  `json:"leaseMaximumMilliseconds,omitempty"`
	LeaseMinimumMilliseconds int64  `json:"leaseMinimumMilliseconds,omitempty"`
}

type filePolicy struct {
	Policy        string `json:"policy"`
	StableSeconds *int64 `json:"stableSeconds,omitempty"` // of policy Delayed; 5 if nil
}

type fileProcess struct {
	Name     string `json:"name"`
	UID      string `json:"uid,omitempty"`
	Address  string `json:"address,omitempty"`
	Priority *int32 `json:"priority,omitempty"`
	Voter    *bool  `json:"voter,omitempty"`
	StateID  string `json:"stateID,omitempty"`
}

// ReadFile reads a roster from a JSON file, as Parse does.
func ReadFile(path string) (Roster, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Roster{}, fmt.Errorf("read the roster: %w", err)
	}
	r, err := Parse(data)
	if err != nil {
		return Roster{}, fmt.Errorf("roster %s: %w", path, err)
	}
	return r, nil
}

// Parse reads a roster from JSON. An unknown field is an error. Absent fields get the API's
// defaults: namespace "default", generation 1, algorithm Bully, safety Guarded, timing of profile
// Balanced, preemption Delayed with stableSeconds 5, rules 1, no appHealth. The defaults of a
// process are its name as uid, priority 1 and voter true. A field of timing that does not fit the
// profile is an error.
func Parse(data []byte) (Roster, error) {
	if len(data) > maxFile {
		return Roster{}, fmt.Errorf("the roster has %d bytes: at most %d are allowed", len(data),
			maxFile)
	}
	f := file{
		Namespace:  "default",
		Generation: 1,
		Algorithm:  "Bully",
		Safety:     Guarded,
		Preemption: filePolicy{Policy: Delayed},
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return Roster{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Roster{}, errors.New("unexpected data after the roster: the file must hold " +
			"exactly one JSON object")
	}
	if err := f.validate(); err != nil {
		return Roster{}, err
	}
	times, err := f.Timing.resolve(f.Safety == Guarded)
	if err != nil {
		return Roster{}, err
	}
	r := f.roster(times)
	if r.AppHealth, err = f.AppHealth.health(); err != nil {
		return Roster{}, err
	}
	return r, r.Validate()
}

// validate rejects values that do not fit into a time.Duration. Roster.Validate checks the rest.
func (f file) validate() error {
	for name, milliseconds := range map[string]int64{
		"timing.heartbeatMilliseconds":    f.Timing.HeartbeatMilliseconds,
		"timing.timeoutMilliseconds":      f.Timing.TimeoutMilliseconds,
		"timing.leaseMaximumMilliseconds": f.Timing.LeaseMaximumMilliseconds,
		"timing.leaseMinimumMilliseconds": f.Timing.LeaseMinimumMilliseconds,
	} {
		if milliseconds < 0 || milliseconds > maxTimeout.Milliseconds() {
			return fmt.Errorf("%s %d: must be between 0 and %d", name, milliseconds,
				maxTimeout.Milliseconds())
		}
	}
	return f.Preemption.validate()
}

func (p filePolicy) validate() error {
	most := int64(maxStable / time.Second)
	switch {
	case p.StableSeconds == nil:
		return nil
	case p.Policy != Delayed:
		return fmt.Errorf("preemption.stableSeconds requires policy %s, not %s", Delayed, p.Policy)
	case *p.StableSeconds < 0 || *p.StableSeconds > most:
		return fmt.Errorf("preemption.stableSeconds %d: must be between 0 and %d", *p.StableSeconds, most)
	}
	return nil
}

// stable is how long a process of higher priority must have answered.
func (p filePolicy) stable() time.Duration {
	switch {
	case p.Policy != Delayed:
		return 0
	case p.StableSeconds == nil:
		return 5 * time.Second
	default:
		return time.Duration(*p.StableSeconds) * time.Second
	}
}

func filePolicyOf(r Roster) filePolicy {
	p := filePolicy{Policy: r.Preemption}
	if r.Preemption == Delayed {
		p.StableSeconds = new(int64(r.Stable / time.Second))
	}
	return p
}

// resolve returns what the profile and the fields that override it come to.
func (f fileTiming) resolve(guarded bool) (timing.Timing, error) {
	profile, ok := timing.Of(f.Profile)
	if !ok {
		return timing.Timing{}, fmt.Errorf("timing.profile %q: must be %s, %s or %s", f.Profile,
			timing.Fast, timing.Balanced, timing.Patient)
	}
	set := timing.Timing{
		Heartbeat:    time.Duration(f.HeartbeatMilliseconds) * time.Millisecond,
		Timeout:      time.Duration(f.TimeoutMilliseconds) * time.Millisecond,
		Lease:        time.Duration(f.LeaseMaximumMilliseconds) * time.Millisecond,
		LeaseMinimum: time.Duration(f.LeaseMinimumMilliseconds) * time.Millisecond,
	}
	times, adjusted := profile.With(set, guarded)
	if len(adjusted) > 0 {
		return timing.Timing{}, errors.New(adjusted[0].String())
	}
	if !guarded { // nothing depends on them
		times.Lease, times.LeaseMinimum = set.Lease, set.LeaseMinimum
	}
	return times, nil
}

func (f file) roster(times timing.Timing) Roster {
	r := Roster{
		Namespace:    f.Namespace,
		Group:        f.Group,
		Generation:   f.Generation,
		Algorithm:    f.Algorithm,
		Safety:       f.Safety,
		Heartbeat:    times.Heartbeat,
		Timeout:      times.Timeout,
		Rules:        f.Rules,
		Lease:        times.Lease,
		LeaseMinimum: times.LeaseMinimum,
		Preemption:   f.Preemption.Policy,
		Stable:       f.Preemption.stable(),
	}
	for _, p := range f.Processes {
		process := Process{
			Name:     p.Name,
			UID:      p.UID,
			Address:  p.Address,
			Priority: 1,
			Voter:    true,
			StateID:  p.StateID,
		}
		if p.UID == "" {
			process.UID = p.Name
		}
		if p.Priority != nil {
			process.Priority = *p.Priority
		}
		if p.Voter != nil {
			process.Voter = *p.Voter
		}
		r.Processes = append(r.Processes, process)
	}
	return r
}

// Encode returns the roster as JSON, from which Parse returns an equal roster (times have a
// resolution of milliseconds; Stable and the times of AppHealth, of seconds).
func (r Roster) Encode() []byte {
	f := file{
		Namespace:  r.Namespace,
		Group:      r.Group,
		Generation: r.Generation,
		Algorithm:  r.Algorithm,
		Safety:     r.Safety,
		Timing: fileTiming{
			HeartbeatMilliseconds:    r.Heartbeat.Milliseconds(),
			TimeoutMilliseconds:      r.Timeout.Milliseconds(),
			LeaseMaximumMilliseconds: r.Lease.Milliseconds(),
			LeaseMinimumMilliseconds: r.LeaseMinimum.Milliseconds(),
		},
		Rules:      r.Rules,
		Preemption: filePolicyOf(r),
		AppHealth:  fileHealthOf(r.AppHealth),
	}
	// which is the lease; in a file it would be the profile's
	if r.Safety == Guarded && r.LeaseMinimum == 0 {
		f.Timing.LeaseMinimumMilliseconds = f.Timing.LeaseMaximumMilliseconds
	}
	for _, p := range r.Processes {
		f.Processes = append(f.Processes, fileProcess{
			Name:     p.Name,
			UID:      p.UID,
			Address:  p.Address,
			Priority: &p.Priority,
			Voter:    &p.Voter,
			StateID:  p.StateID,
		})
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		panic(err) // strings and integers can always be marshalled
	}
	return append(data, '\n')
}
