package lease

import "time"

// LinksTake returns how long the processes of a group may take to make their links: 300 ms for each
// process, if they share two cores. In a small group it is 0: nobody waits for that.
func LinksTake(processes int) time.Duration {
	const large = 12
	if processes <= large {
		return 0
	}
	return time.Duration(processes) * 300 * time.Millisecond
}
