package group

import (
	"strconv"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// priorityOf returns the priority of the process of that name: what spec.processes says, else the
// ordinal if the spec asks for it and the name has one, else the default.
func priorityOf(spec *v1.ElectionGroupSpec, name string) int32 {
	for _, p := range spec.Processes {
		if p.Name == name && p.Priority != nil {
			return *p.Priority
		}
	}
	if ordinal, ok := ordinalOf(name); ok {
		switch spec.Priority.From {
		case v1.Ordinal:
			return ordinal + 1
		case v1.ReverseOrdinal:
			return roster.MaxPriority - ordinal
		}
	}
	if spec.Priority.Default != nil {
		return *spec.Priority.Default
	}
	return 1
}

// ordinalOf returns the number at the end of a StatefulSet's pod's name. A number that is too large
// for a priority does not count.
func ordinalOf(name string) (int32, bool) {
	start := len(name)
	for start > 0 && isDigit(name[start-1]) {
		start--
	}
	if start == len(name) || start == 0 || name[start-1] != '-' {
		return 0, false
	}
	n, err := strconv.ParseInt(name[start:], 10, 32)
	if err != nil || n >= roster.MaxPriority {
		return 0, false
	}
	return int32(n), true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
