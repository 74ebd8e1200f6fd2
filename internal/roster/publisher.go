package roster

import (
	"slices"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
)

// publisher holds the newest roster of each group and the CA bundle. A change wakes the
// subscriptions of the group. Each subscription then reads what is newest at that moment, so a slow
// one skips what is outdated.
type publisher struct {
	mu     sync.Mutex
	trust  string
	groups map[groupKey]*publication
	places map[string]*place // by UID

	manager *identity.Keyring // signs
}

// publication is what was published about a group.
type publication struct {
	known         bool    // published or disbanded since this manager began to lead
	roster        *Roster // nil if the group does not exist; never modified once published
	subscriptions map[string]*subscription

	hold Hold // why no further process can become a voter now

	recall  bool    // agents are to show the roster that they use
	recalls int     // how often they were to
	held    *Roster // the newest that one has shown; nil: none

	signed      []byte    // roster, signed when it was read first; nil: not yet
	signedUntil time.Time // the end of the certificate that signed it
}

func newPublisher(trust []byte, manager *identity.Keyring) *publisher {
	return &publisher{
		trust:   string(trust),
		groups:  map[groupKey]*publication{},
		places:  map[string]*place{},
		manager: manager,
	}
}

func (p *publisher) setTrust(pem []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trust = string(pem)
	for _, n := range p.groups {
		n.wake()
	}
}

func (p *publisher) publish(r Roster) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.publication(groupKey{r.Namespace, r.Group})
	n.recall, n.held = false, nil
	if n.roster != nil && n.roster.Equal(r) {
		return false
	}
	p.list(groupKey{r.Namespace, r.Group}, n.roster, &r)
	n.known, n.roster, n.signed = true, &r, nil
	n.wake()
	return true
}

func (p *publisher) disband(key groupKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.publication(key)
	p.list(key, n.roster, nil)
	if n.roster != nil { // what is said of a group that does not exist stays
		n.hold = Hold{}
	}
	n.known, n.roster, n.signed = true, nil, nil
	n.recall, n.held = false, nil
	n.wake()
	p.tidy(key)
}

// setHold says why no further process of a group can become a voter now.
func (p *publisher) setHold(key groupKey, h Hold) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.groups[key]; n != nil && n.hold != h {
		n.hold = h
		n.wake()
	}
}

// holds returns what the agents of a group are to be told.
func (p *publisher) holds(name identity.Name) Hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.groups[groupKey{name.Namespace, name.Group}]; n != nil {
		return n.hold
	}
	return Hold{}
}

// enter makes s the subscription of its pod, and ends an older one.
func (p *publisher) enter(name identity.Name, s *subscription) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.publication(groupKey{name.Namespace, name.Group})
	if other := n.subscriptions[name.UID]; other != nil {
		if other.number > s.number {
			s.supersede()
			return
		}
		other.supersede()
	}
	n.subscriptions[name.UID] = s
	at := p.place(name.UID)
	at.subscriptions = append(at.subscriptions, s)
}

func (p *publisher) leave(name identity.Name, s *subscription) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.places[name.UID]; at != nil {
		at.subscriptions = slices.DeleteFunc(at.subscriptions, func(o *subscription) bool {
			return o == s
		})
		p.tidyPlace(name.UID)
	}
	key := groupKey{name.Namespace, name.Group}
	if n := p.groups[key]; n != nil && n.subscriptions[name.UID] == s {
		delete(n.subscriptions, name.UID)
		p.tidy(key)
	}
}

// read returns what is published now. known is false while nothing was published about the group;
// then agents are told nothing.
func (p *publisher) read(name identity.Name) (trust string, r *Roster, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.groups[groupKey{name.Namespace, name.Group}]; n != nil {
		return p.trust, n.roster, n.known
	}
	return p.trust, nil, false
}

// sign returns a roster that read returned as the manager signs it; nil if something else has been
// published since, and the subscriptions are woken for that. Each roster is signed once, and again
// by each new certificate of the manager.
func (p *publisher) sign(name identity.Name, r *Roster) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.groups[groupKey{name.Namespace, name.Group}]
	if n == nil || n.roster != r {
		return nil, nil
	}
	until := p.manager.NotAfter()
	if n.signed == nil || !until.Equal(n.signedUntil) {
		signed, err := Sign(p.manager, *n.roster)
		if err != nil {
			return nil, err
		}
		n.signed, n.signedUntil = signed, until
	}
	return n.signed, nil
}

func (p *publisher) publication(key groupKey) *publication {
	n := p.groups[key]
	if n == nil {
		n = &publication{subscriptions: map[string]*subscription{}}
		p.groups[key] = n
	}
	return n
}

// tidy drops a group that does not exist and has no subscriptions, because subscriptions may name
// any group.
func (p *publisher) tidy(key groupKey) {
	if n := p.groups[key]; n != nil && n.roster == nil && !n.recall && len(n.subscriptions) == 0 {
		delete(p.groups, key)
	}
}

func (n *publication) wake() {
	for _, s := range n.subscriptions {
		s.to.wakeUp()
	}
}
