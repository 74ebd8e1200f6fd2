// Package timeslice has a program run soon after it is woken where others use the same CPUs.
//
// Linux lets a thread run for some milliseconds before the next one's turn comes. Of those that
// wait, and have not had their share, it takes the one first whose time slice would be over first.
// A thread may say since Linux 6.12 how long a slice it wants. An agent works for less than 0.1 ms
// at a time, so it wants the shortest that there is, and waits for fewer others. Its share of the
// CPU stays what it was. No right is needed for that.
//
// What is not promised: that the program never waits. A thread that runs is not always interrupted,
// those come first that want as short slices, and a group of processes (a pod, for example) that
// has used its share waits whatever its threads want. Older kernels do not listen.
package timeslice
