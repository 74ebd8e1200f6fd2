// Package boottime reads and awaits instants of CLOCK_BOOTTIME: the clock of the machine that an
// agent and its app share. It advances while the machine is suspended, and it cannot be set.
//
// Go's own clock and timers do not serve here, because they stand still during suspension: a timer
// of half a second that is set before the lid is closed fires half a second after it is opened
// again. An Alarm is due by then, and goes off at once.
//
// On systems other than Linux, where agents run for development only, it is Go's monotonic clock,
// and an Alarm is one of Go's timers.
package boottime
