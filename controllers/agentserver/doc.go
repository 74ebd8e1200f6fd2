// Package agentserver is the part of the manager that agents talk to: it serves rosters
// to them for as long as this manager leads, admits agents by their ServiceAccount tokens, and
// labels the leading manager's pod, so that agents find it.
//
// What is not promised: that an agent is connected. Elections need no manager.
package agentserver
