// Package trace joins what several processes tell of an election to one picture of it: which
// message was sent before which, and who was elected.
//
// No clock of one machine is compared with that of another. What orders the events of different
// processes is that a message cannot arrive before it was sent (Lamport's happened-before); a
// message is recognised by its identity: who sent it, in which incarnation, and as which of its
// messages. Where the accounts leave an order open, the picture says so, and does not choose one. A
// process that gives no account is a gap, and named as one.
//
// Accounts are what agents say of themselves: they may be wrong, on purpose or not. Accounts that
// contradict each other give a picture with sentences that say so, never an error, and always in
// bounded time and memory. What is not promised is that the accounts are true.
//
// The package is pure: it needs neither a cluster nor a clock.
package trace
