package v1

// Followed returns whom the process of a row follows, and under which epoch, by the report of its
// agent. The name is empty if the process follows nobody or is not connected; the epoch is 0 in a
// Classic group. If two rows name different processes, the processes disagree.
func (s *ElectionGroupStatus) Followed(row *ProcessStatus) (name string, epoch int64) {
	switch {
	case row.Connected == nil || !*row.Connected || row.Electing != nil && *row.Electing:
		return "", 0
	case row.Follows != "":
		return row.Follows, row.Epoch
	case s.Coordinator == nil:
		return "", 0
	case row.Epoch != 0:
		return s.Coordinator.Name, row.Epoch
	default:
		return s.Coordinator.Name, s.Coordinator.Epoch
	}
}
