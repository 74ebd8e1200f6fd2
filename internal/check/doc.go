// Package check judges, from what was read of a cluster, whether Podesta can be installed there,
// and whether an installation works: the check of `kubectl election check`. It reads nothing
// itself.
//
// What could not be read is no failure: its result is Unknown, and says which right is missing.
// Nothing is tried out: no pod is created, and no connection made to an agent. Whether agents reach
// each other shows in the groups' status (package display).
package check
