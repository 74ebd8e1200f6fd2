package lease

import (
	"errors"
	"fmt"
	"slices"
)

// V12. A group may be deleted and made again under its name, and a manager whose cache is behind
// may name the earlier object once more. What a voter must not forget of a group object it keeps
// while it serves another one, and takes up again when it comes back: the generation that it has
// used and the highest epoch that it has promised. To whom it had promised that is not taken up,
// because meanwhile it may have promised something else: a promise that still runs binds it to
// nobody. It knows MaxGroups other objects at most. Then it takes part in no further one, rather
// than forget a promise. A candidate, too, remembers which epochs it has sought, and what it
// follows nothing below (C3, F2), for each object.

// MaxGroups is how many group objects, besides the present one, a voter knows at most (V12).
const MaxGroups = 32

// Earlier is what a voter must not forget of a group object that it serves no more. It is never
// changed.
type Earlier struct {
	Group      string
	Generation int64
	Highest    Epoch
	Next       *Earlier // nil: that is all
}

// Equal reports whether two States say the same.
func (s State) Equal(o State) bool {
	a, b := s.Earlier, o.Earlier
	for a != b && a != nil && b != nil {
		if a.Group != b.Group || a.Generation != b.Generation || a.Highest != b.Highest {
			return false
		}
		a, b = a.Next, b.Next
	}
	s.Earlier, o.Earlier = nil, nil
	return s == o && a == b
}

// enter returns the State with which a voter serves another group object. The objects that it has
// never voted in need not be remembered: it has promised nothing there.
func (s State) enter(group string) State {
	next := State{Group: group, Lease: s.Lease}
	for e := s.Earlier; e != nil; e = e.Next {
		if e.Group == group {
			next.Voted, next.Generation, next.Highest = true, e.Generation, e.Highest
		} else {
			next.Earlier = &Earlier{e.Group, e.Generation, e.Highest, next.Earlier}
		}
	}
	if s.Voted {
		next.Earlier = &Earlier{s.Group, s.Generation, s.Highest, next.Earlier}
	}
	return next
}

// Used returns the newest generation of a group object that this state directory has used, as far
// as it had to remember that; 0: none.
func (s State) Used(group string) int64 {
	if s.Group == group {
		return s.Generation
	}
	for e := s.Earlier; e != nil; e = e.Next {
		if e.Group == group {
			return e.Generation
		}
	}
	return 0
}

// past is what a candidate remembers of a group object that it has left. It lives as long as the
// incarnation.
type past struct {
	group    string
	sought   Epoch  // the highest that it has sought (C3)
	floor    Epoch  // it follows nothing below (F2)
	reported Epoch  // the highest that it was bound to (F1)
	ended    ending // the newest lease that ended by a STEP DOWN (F3)
}

// leave gives up what is held, and remembers what is to be known on return.
func (m *Machine) leave() {
	if m.roster != nil {
		group := m.roster.Group
		others := slices.DeleteFunc(slices.Clone(m.past), func(p past) bool { return p.group == group })
		l, f := &m.leaseholder, &m.follower
		m.past = append(others, past{group, l.lastSought, f.floor, f.reported, f.ended})
	}
	m.dropLease()
	m.candidacy, m.follower = candidacy{}, follower{}
	m.leaseholder.lapsed, m.leaseholder.lastSought = nil, 0
}

// recall takes up what is remembered of a group object.
func (m *Machine) recall(group string) {
	for _, p := range m.past {
		if p.group == group {
			m.leaseholder.lastSought = p.sought
			f := &m.follower
			f.floor, f.reported, f.ended = p.floor, p.reported, p.ended
		}
	}
}

// ErrTooManyGroups means that a state directory has served as many group objects as it may.
var ErrTooManyGroups = errors.New(fmt.Sprint("the state directory of this agent has served ",
	MaxGroups, " other group objects of this name, and must not forget what it promised in any of "+
		"them: delete the pod, so that it begins with a new state directory"))

// Admits returns ErrTooManyGroups if this process may not take part in a group object, because it
// would have to forget another one (V12).
func (m *Machine) Admits(group string) error {
	voted, sought := 0, 0 // the others that it must know
	for e := m.voter.Earlier; e != nil; e = e.Next {
		voted += count(e.Group != group)
	}
	voted += count(m.voter.Voted && m.voter.Group != group)
	for _, p := range m.past {
		sought += count(p.group != group)
	}
	if max(voted, sought) > MaxGroups {
		return ErrTooManyGroups
	}
	return nil
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// Used returns the newest generation of a group object that this voter has used, as far as it had
// to remember that (V4, V12); 0: none.
func (m *Machine) Used(group string) int64 { return m.voter.Used(group) }
