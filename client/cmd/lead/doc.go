// Command lead runs a command while this process leads its group, and ends it in time when it may
// lead no longer. It asks the agent in the same pod, and runs on Linux.
//
//	lead [flags] -- command [argument ...]
//
// Its files, in the order of a reader: options.go has the flags, leader_linux.go decides when the
// command runs, command_linux.go starts and ends it, children_linux.go keeps account of its
// processes, and probe_linux.go answers lead --probe.
package main
