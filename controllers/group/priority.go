package group

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// reasonPriorityDefaulted is a reason of condition Degraded. It is no event: a rollout that labels
// the pods passes through pods that do not have the label.
const reasonPriorityDefaulted = "PriorityDefaulted"

// priorityOf returns the priority of the process of that name, which has that label (see
// priorityLabel): what spec.processes says, else what the spec derives from the pod, else the
// default. Fallback reports that the spec derives priorities from pods, and this one has none.
func priorityOf(spec *v1.ElectionGroupSpec, name, label string) (priority int32, fallback bool) {
	for _, p := range spec.Processes {
		if p.Name == name && p.Priority != nil {
			return *p.Priority, false
		}
	}
	if priority, ok := derivedPriority(&spec.Priority, name, label); ok {
		return priority, false
	}
	return defaultPriority(&spec.Priority), spec.Priority.From != ""
}

func derivedPriority(policy *v1.PriorityPolicy, name, label string) (priority int32, ok bool) {
	ordinal, numbered := ordinalOf(name)
	switch {
	case policy.From == v1.Ordinal && numbered:
		return ordinal + 1, true
	case policy.From == v1.ReverseOrdinal && numbered:
		return roster.MaxPriority - ordinal, true
	case policy.From == v1.Label:
		for _, v := range policy.Values {
			if label == policy.Key+"="+v.Value && v.Priority != nil {
				return *v.Priority, true
			}
		}
	}
	return 0, false
}

func defaultPriority(policy *v1.PriorityPolicy) int32 {
	if policy.Default != nil {
		return *policy.Default
	}
	return 1
}

// priorityLabel returns the label from which a pod has its priority, as key=value. It is the key
// alone if the pod does not have the label, and empty if the spec derives priorities from no label.
//
// A voter keeps the label that it had when it became one, which the persisted roster records (of
// voters only). So nobody moves the lead among running processes by editing labels. The record of
// another key does not count. Pod and record may be nil.
func priorityLabel(spec *v1.ElectionGroupSpec, pod *corev1.Pod, recorded *v1.RosterMember) string {
	key := spec.Priority.Key
	if spec.Priority.From != v1.Label {
		return ""
	}
	if recorded != nil {
		if of, _, _ := strings.Cut(recorded.PriorityLabel, "="); of == key {
			return recorded.PriorityLabel
		}
	}
	if pod != nil {
		if value, ok := pod.Labels[key]; ok {
			return key + "=" + value
		}
	}
	return key
}

// defaultedPriorities describes which processes have the default priority although the spec derives
// priorities from pods, and what to do about it; empty if there are none. It leaves out pods whose
// agents have not joined, because Kubernetes labels a pod when it is scheduled.
func defaultedPriorities(f findings) string {
	policy := &f.group.Spec.Priority
	var who []string
	for _, p := range f.processes {
		if !p.member || !p.joined || !p.fallback {
			continue
		}
		if policy.From == v1.Label {
			who = append(who, fmt.Sprintf("%s (%s)", p.name, describeLabel(p.label)))
		} else {
			who = append(who, p.name)
		}
	}
	if len(who) == 0 {
		return ""
	}
	has := fmt.Sprintf("%s %s the default priority %d, because spec.priority.from is %s and ",
		enumerate(who), plural(len(who), "has", "have"), defaultPriority(policy), policy.From)
	if policy.From == v1.Label {
		return has + "spec.priority.values lists no such value. List it there, or label the pod " +
			"template: labels are read when a process joins"
	}
	return has + plural(len(who), "its name does", "their names do") +
		" not end in an ordinal, as the names of a StatefulSet's pods do. Name the pods in " +
		"spec.processes, or use from: Label"
}

func describeLabel(label string) string {
	if strings.Contains(label, "=") {
		return label
	}
	return "no label " + label
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
