package roster

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// FieldDigest is the digest of one field of a roster file, by its name in the file.
type FieldDigest struct {
	Name   string
	Digest uint64
}

// Digests returns a digest of each field that all roster files of a generation must have in common,
// in an order that is the same for all. A field that a file leaves out counts as its default.
// Addresses and appHealth may differ from one machine to another, so they are not among them. The
// namespace and the group are not either, because links are made only within a group.
func (r Roster) Digests() []FieldDigest {
	fields := []struct {
		name  string
		value any
	}{
		{"safety", r.Safety},
		{"algorithm", r.Algorithm},
		{"timing.heartbeatMilliseconds", r.Heartbeat},
		{"timing.timeoutMilliseconds", r.Timeout},
		{"timing.leaseMaximumMilliseconds", r.Lease},
		{"timing.leaseMinimumMilliseconds", r.LeaseMinimum},
		{"rules", max(r.Rules, 1)},
		{"preemption.policy", r.Preemption},
		{"preemption.stableSeconds", r.Stable},
		{"processes.name", r.each(func(p Process) any { return p.Name })},
		{"processes.uid", r.each(func(p Process) any { return p.UID })},
		{"processes.priority", r.each(func(p Process) any { return p.Priority })},
		{"processes.voter", r.each(func(p Process) any { return p.Voter })},
		{"processes.stateID", r.each(func(p Process) any { return p.StateID })},
	}
	digests := make([]FieldDigest, len(fields))
	for i, f := range fields {
		data, err := json.Marshal(f.value)
		if err != nil {
			panic(err) // strings and integers can always be marshalled
		}
		sum := sha256.Sum256(data)
		digests[i] = FieldDigest{Name: f.name, Digest: binary.BigEndian.Uint64(sum[:])}
	}
	return digests
}

func (r Roster) each(of func(Process) any) (values []any) {
	for _, p := range r.Processes {
		values = append(values, of(p))
	}
	return values
}

// FileDigest returns a digest of all of Digests and the generation, for people: two files with the
// same one are the same to a group.
func (r Roster) FileDigest() string {
	data, err := json.Marshal([]any{r.Namespace, r.Group, r.Generation, r.Digests()})
	if err != nil {
		panic(err) // likewise
	}
	sum := sha256.Sum256(data)
	return fmt.Sprintf("%x", sum[:8])
}
