// Package roster is the protocol between agents and the manager, both ends.
//
// An agent has one Client. It joins (proof of who the pod is against a certificate), then follows: the manager sends it every
// new roster and CA bundle, it sends the manager a Report whenever what it sees has changed. Both directions are
// latest-wins: a report or a roster that was overtaken by a newer one before it could be sent is never sent. What is sent is
// always whole, so nothing has to be replayed after a lost connection.
//
// The manager has one Server. Who a session speaks for is taken from its certificate only. The Server hands out the
// rosters that it is told to publish and keeps what agents report as Sightings; it decides nothing about a group.
//
// What is not promised: that every roster or report is seen (only that the newest one eventually is), and that a
// Sighting is true now: it is what the agent last said.
//
// The package knows no Kubernetes: what needs the API server comes in through Admission.
package roster
