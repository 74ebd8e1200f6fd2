package lease

// Phase returns what this process is doing, in one of the words of internal/roster's reports; empty
// without a roster.
func (m *Machine) Phase() string {
	c, f := &m.candidacy, &m.follower
	switch {
	case m.roster == nil:
		return ""
	case m.leaseholder.held != nil:
		return "Holding"
	case m.leaseholder.steppingDown != nil:
		return "SteppingDown"
	case f.leaseholder.Name != "" && !m.cannotTell():
		return "Following"
	case c.ballotsSpent:
		return "BallotsSpent"
	case c.noMajority:
		return "NoMajority"
	case c.waits:
		return "Waiting"
	default:
		return "Electing"
	}
}
