package main

import "time"

// round is what a coordinator learns when it asks every process once.
type round struct {
	highest Token // the highest token that any process knows of
	held    bool  // a process has that token
	silent  int   // so many neither answered nor refused the connection
}

// loss decides from rounds of questions whether the token is lost.
//
// If nobody has the highest token in two rounds, one after the other, and it is the same in both,
// then nobody had it between them: a process has a token until the next one has answered that it
// took it, and to take it raises the highest. So if everybody answers, or is known to be gone, two
// rounds decide. A process that is silent may have the token, so a silent one is waited for, for as
// long as patience says. It may have the token all the same: that one is then replaced, and refused
// when it turns up.
type loss struct {
	patience time.Duration

	last  round
	since time.Time // of the first of the rounds that were alike
}

// is takes a round, and reports whether the token is lost.
func (l *loss) is(r round, now time.Time) bool {
	same := r.highest == l.last.highest && !r.held && !l.last.held && !l.since.IsZero()
	known := r.silent == 0 && l.last.silent == 0
	if !same {
		l.since = now
	}
	l.last = r
	return same && (known || now.Sub(l.since) >= l.patience)
}

// forget begins anew.
func (l *loss) forget() { *l = loss{patience: l.patience} }
