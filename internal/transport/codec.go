package transport

import (
	"fmt"
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// The limits of a frame. A group has at most 100 processes, and a Kubernetes name at most 253
// bytes.
const (
	maxEntries   = 100
	maxNameBytes = 253
	maxHops      = 4096
	maxFrame     = 256 << 10 // bytes on the wire
	maxRoster    = 240 << 10 // bytes of a signed roster: roster.MaxSigned
)

// encode copies m completely, because its slices belong to the sender. It refuses what decode would
// refuse.
func encode(algorithm string, sequence uint64, m election.Message) (*linkpb.Frame, error) {
	if m.Hops < 0 || m.Hops > maxHops {
		return nil, fmt.Errorf("%d hops, want 0 to %d", m.Hops, maxHops)
	}
	message := &linkpb.Message{
		Algorithm: algorithm,
		Kind:      string(m.Kind),
		Election: &linkpb.Election{
			Initiator:   m.Election.Initiator,
			Incarnation: m.Election.Incarnation,
			Sequence:    m.Election.Sequence,
		},
		Process:  m.Process,
		Hops:     uint32(m.Hops),
		List:     slices.Clone(m.List),
		Sequence: sequence,
	}
	if len(m.Table) > 0 {
		message.Table = make([]*linkpb.Entry, len(m.Table))
		for i, row := range m.Table {
			message.Table[i] = &linkpb.Entry{Name: row.Name, Status: string(row.Status)}
		}
	}
	if err := validate(message); err != nil {
		return nil, err
	}
	return &linkpb.Frame{Frame: &linkpb.Frame_Message{Message: message}}, nil
}

// decode converts a message of a peer. It checks sizes only; whether the message makes sense is for
// the algorithm to judge.
func decode(message *linkpb.Message) (election.Message, error) {
	if err := validate(message); err != nil {
		return election.Message{}, err
	}
	m := election.Message{
		Kind: election.Kind(message.GetKind()),
		Election: election.ID{
			Initiator:   message.GetElection().GetInitiator(),
			Incarnation: message.GetElection().GetIncarnation(),
			Sequence:    message.GetElection().GetSequence(),
		},
		Process: message.GetProcess(),
		Hops:    int(message.GetHops()),
		List:    message.GetList(),
	}
	if rows := message.GetTable(); len(rows) > 0 {
		m.Table = make([]election.Entry, len(rows))
		for i, row := range rows {
			m.Table[i] = election.Entry{
				Name:   row.GetName(),
				Status: election.Status(row.GetStatus()),
			}
		}
	}
	return m, nil
}

func validate(m *linkpb.Message) error {
	if n := max(len(m.GetList()), len(m.GetTable())); n > maxEntries {
		return fmt.Errorf("a message of %d entries, %d are allowed", n, maxEntries)
	}
	if m.GetHops() > maxHops {
		return fmt.Errorf("a message of %d hops, %d are allowed", m.GetHops(), maxHops)
	}
	if m.GetAlgorithm() == "" || m.GetKind() == "" {
		return fmt.Errorf("a message without algorithm or kind")
	}
	for _, s := range [...]string{
		m.GetAlgorithm(),
		m.GetKind(),
		m.GetElection().GetInitiator(),
		m.GetProcess(),
	} {
		if err := validateName(s); err != nil {
			return err
		}
	}
	for _, name := range m.GetList() {
		if err := validateName(name); err != nil {
			return err
		}
	}
	for _, row := range m.GetTable() {
		if err := validateName(row.GetName()); err != nil {
			return err
		}
		if err := validateName(row.GetStatus()); err != nil {
			return err
		}
	}
	return nil
}

func validateName(s string) error {
	if len(s) > maxNameBytes {
		return fmt.Errorf("a name of %d bytes, %d are allowed", len(s), maxNameBytes)
	}
	return nil
}

// helloFrame returns the first frame of a stream; a nil file is a manager's roster.
func helloFrame(start *linkpb.Start, stateID string, succeeds bool,
	file *RosterFile) *linkpb.Frame {
	return &linkpb.Frame{Frame: &linkpb.Frame_Hello{Hello: &linkpb.Hello{
		Start:      start,
		StateId:    stateID,
		Succeeds:   succeeds,
		RosterFile: file.message(),
	}}}
}

func validateHello(hello *linkpb.Hello) error {
	if n := len(hello.GetRosterFile().GetFields()); n > maxFields {
		return fmt.Errorf("a roster file of %d fields, %d are allowed", n, maxFields)
	}
	return firstOf(validateStateID(hello.GetStateId()), validateStart(hello.GetStart()))
}

func askFrame(sequence uint64, generation int64) *linkpb.Frame {
	return &linkpb.Frame{Frame: &linkpb.Frame_Ask{Ask: &linkpb.Ask{
		Sequence:   sequence,
		Generation: generation,
	}}}
}

func rosterRequestFrame() *linkpb.Frame {
	return &linkpb.Frame{Frame: &linkpb.Frame_RosterRequest{RosterRequest: &linkpb.RosterRequest{}}}
}

func leavingFrame() *linkpb.Frame {
	return &linkpb.Frame{Frame: &linkpb.Frame_Leaving{Leaving: &linkpb.Leaving{}}}
}

func endFrame() *linkpb.Frame {
	return &linkpb.Frame{Frame: &linkpb.Frame_End{End: &linkpb.End{}}}
}
