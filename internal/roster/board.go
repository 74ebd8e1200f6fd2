package roster

import (
	"sync"

	"github.com/podesta-dev/podesta/internal/identity"
)

// board is where the newest roster of each group and the CA bundle hang, for the sessions to read. Whoever puts up
// something new wakes the sessions; each reads what is newest when it gets to it, so a slow one skips what was overtaken.
type board struct {
	mu     sync.Mutex
	trust  string
	groups map[groupKey]*notice
}

// notice is what is known of a group.
type notice struct {
	known    bool    // published or withdrawn since this manager began to lead
	roster   *Roster // nil: the group does not exist; never changed once it hangs
	sessions map[string]*session
}

func newBoard(trust []byte) *board {
	return &board{trust: string(trust), groups: map[groupKey]*notice{}}
}

func (b *board) setTrust(pem []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trust = string(pem)
	for _, n := range b.groups {
		n.wake()
	}
}

func (b *board) publish(r Roster) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.notice(groupKey{r.Namespace, r.Group})
	if n.roster != nil && n.roster.Equal(r) {
		return
	}
	n.known, n.roster = true, &r
	n.wake()
}

func (b *board) withdraw(key groupKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.notice(key)
	n.known, n.roster = true, nil
	n.wake()
	b.tidy(key)
}

// enter makes the session the one of its pod; the older one is told to end.
func (b *board) enter(name identity.Name, s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.notice(groupKey{name.Namespace, name.Group})
	if other := n.sessions[name.UID]; other != nil {
		if other.number > s.number {
			s.supersede()
			return
		}
		other.supersede()
	}
	n.sessions[name.UID] = s
}

func (b *board) leave(name identity.Name, s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := groupKey{name.Namespace, name.Group}
	if n := b.groups[key]; n != nil && n.sessions[name.UID] == s {
		delete(n.sessions, name.UID)
		b.tidy(key)
	}
}

// read returns what hangs now. known is false while nobody has said anything about the group: then there is nothing to tell.
func (b *board) read(name identity.Name) (trust string, r *Roster, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.groups[groupKey{name.Namespace, name.Group}]; n != nil {
		return b.trust, n.roster, n.known
	}
	return b.trust, nil, false
}

func (b *board) notice(key groupKey) *notice {
	n := b.groups[key]
	if n == nil {
		n = &notice{sessions: map[string]*session{}}
		b.groups[key] = n
	}
	return n
}

// tidy drops what nobody reads about a group that does not exist: sessions may name any group.
func (b *board) tidy(key groupKey) {
	if n := b.groups[key]; n != nil && n.roster == nil && len(n.sessions) == 0 {
		delete(b.groups, key)
	}
}

func (n *notice) wake() {
	for _, s := range n.sessions {
		s.wakeUp()
	}
}
