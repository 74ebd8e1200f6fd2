package node

// calm reports that no election goes on in a Guarded group: this process or the voters hear the
// leaseholder, and the election algorithm names it. It is false while the lease of a leaseholder
// that nobody hears any more runs out.
func (n *Node) calm(leaseholder string) bool {
	s := n.election.State()
	return n.guarded() && leaseholder != "" && n.lease.IgnoresElections() &&
		s.Coordinator == leaseholder && !s.Electing
}
