//go:build race

package sim_test

// slowdown is by how much fewer seeds fit into the time that a test has.
const slowdown = 8
