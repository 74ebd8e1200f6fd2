package page

// swarm spreads dots over lanes, so that those of a lane do not touch as long as there is a lane
// free. The places are ordered; the result has each one's lane, 0 in the middle, then 1, −1, 2, −2
// … Where all lanes are full, dots overlap in the one with most room.
func swarm(places []float64, width float64, lanes int) []int {
	last := make([]float64, lanes) // where the last dot of a lane is
	used := make([]bool, lanes)
	chosen := make([]int, len(places))
	for i, x := range places {
		best := 0
		for lane := range lanes {
			if !used[lane] || x-last[lane] >= width {
				best = lane
				break
			}
			if last[lane] < last[best] {
				best = lane
			}
		}
		last[best], used[best] = x, true
		chosen[i] = offset(best)
	}
	return chosen
}

// offset is where a lane is: 0, 1, −1, 2, −2 …
func offset(lane int) int {
	if lane%2 == 1 {
		return (lane + 1) / 2
	}
	return -lane / 2
}
