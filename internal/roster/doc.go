// Package roster implements both ends of the protocol between agents and the manager.
//
// Each agent has one [Client]. It joins, which exchanges proof of the pod's identity for a
// certificate, and then follows: the manager sends it every new [Roster] and CA bundle, and it
// sends the manager a [Report] whenever its state changes. In both directions the latest message
// wins: a roster or report that is superseded before it could be sent is never sent. Every message
// is complete, so nothing has to be repeated after a connection is lost.
//
// The manager has one [Server]. It takes an agent's identity from the certificate of its connection
// only. The Server distributes the rosters that it is told to publish, and keeps what agents report
// as [Sightings]. It decides nothing about a group.
//
// The package does not use Kubernetes: whatever needs the API server is provided through
// [Admission].
//
// # What is not guaranteed
//
//   - That every roster or report is seen: only the newest one eventually is.
//   - That a [Sighting] is still true: it is what the agent said last.
package roster
