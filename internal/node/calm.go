package node

// calm reports that no election goes on in a Guarded group: this process or the voters hear the
// leaseholder, and the election algorithm names it. While the lease of one that is lost runs on, they do
// not, and what is said then is of an election.
func (n *Node) calm(leaseholder string) bool {
	s := n.election.State()
	return n.guarded() && leaseholder != "" && n.lease.IgnoresElections() && s.Coordinator == leaseholder && !s.Electing
}
