// Package managerlease is the Lease by which one of several managers leads. It is client-go's, with
// one thing added: a manager that waits, and knows that the holder has ended, takes the Lease at
// once, and does not wait until it expires. It knows that from one of
//
//   - the holder's port for agents. It was connected to that port, the connection was closed, and
//     the next one was refused. A manager listens there for as long as it leads, and no other does.
//   - the holder's name. The holder is an earlier process of this manager's own pod, and a kubelet
//     starts a container again only when the process before has ended.
//
// A holder that stands still, or whose machine is lost, closes no connection. Then the Lease
// expires.
//
// What is not promised: that one manager leads at a time. No Lease promises that, because its
// holder may stand still between a check and a write, and nothing depends on it: of two managers
// that write a group's roster, one gets a conflict (MC1 in internal/membership). A network that
// closes a connection between managers, and refuses the next one, makes the one that waits lead too
// early: once for each time, because a manager that was never connected to the holder does not
// judge it. The one that has led judges nobody any more, and ends.
package managerlease
