package transport

import (
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

const (
	// rosterFileVersion changes with what the fields of a RosterFile are.
	rosterFileVersion = 1
	maxFields         = 64
)

// RosterFile is what a process says of its roster file, so that others notice if theirs differs.
type RosterFile struct {
	Generation int64
	Guarded    bool
	Fields     []Field // the same names in all processes of a release
}

// Field is a field of a roster file.
type Field struct {
	Name   string
	Digest uint64
}

func (f *RosterFile) message() *linkpb.RosterFile {
	if f == nil {
		return nil
	}
	m := &linkpb.RosterFile{Version: rosterFileVersion, Generation: f.Generation}
	for _, field := range f.Fields {
		m.Fields = append(m.Fields, field.Digest)
	}
	return m
}

// differs returns the first field in which another file of the same generation differs; empty:
// there is none.
func (f *RosterFile) differs(other *linkpb.RosterFile) string {
	if f == nil || other.GetVersion() != rosterFileVersion || other.GetGeneration() != f.Generation {
		return ""
	}
	for i, field := range f.Fields {
		if i >= len(other.GetFields()) || other.GetFields()[i] != field.Digest {
			return field.Name
		}
	}
	return ""
}

// compare compares the roster file of another process with this one's. The error is why there may
// be no link between the two: in a Guarded group, two processes that do not agree who votes, or for
// how long a vote binds, could each find a majority.
func (h *hub) compare(name string, theirs *linkpb.RosterFile) error {
	field := h.file.differs(theirs)
	if field == "" {
		return nil
	}
	h.complain(name, "the roster files of two processes have the same generation and differ: put one "+
		"file on every machine, with a higher generation at each change, and restart the agents",
		"process", name, "field", field, "generation", h.file.Generation, "linked", !h.file.Guarded)
	if !h.file.Guarded {
		return nil
	}
	return &refusal{
		kind: unwanted,
		reason: "the roster files of " + h.self + " and " + name + " have the same generation, and " +
			"differ in " + field,
		file: h.file,
	}
}
