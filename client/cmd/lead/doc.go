// Command lead runs a command while this process leads its group, and ends it in time when it may
// lead no longer. It asks the agent in the same pod, and runs on Linux.
//
//	lead [flags] -- command [argument ...]
//
// The files: options.go is what was asked for, leader.go when the command runs, command.go how it
// begins and ends, children.go the processes that it consists of, and probe.go what lead says of
// itself.
package main
