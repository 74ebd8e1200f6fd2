package transport

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

var seedFlag = flag.Uint64("seed", 1, "seed of storms and renewals; 0: a random seed")

// seeded returns the random source of a test, and logs its seed.
func seeded(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// witness receives all events of one process and checks the promises of the package.
type witness struct {
	t    *testing.T
	name string
	news chan<- struct{}
	done chan struct{}

	mu   sync.Mutex
	up   map[string]bool
	last map[string]position // by sender
}

// position of a message: the incarnation of its sender, and its number in that incarnation.
type position struct{ incarnation, sequence uint64 }

func watch(t *testing.T, name string, links Links, news chan<- struct{}) *witness {
	w := &witness{
		t:    t,
		name: name,
		news: news,
		up:   map[string]bool{},
		last: map[string]position{},
		done: make(chan struct{}),
	}
	go func() {
		defer close(w.done)
		for e := range links.Events() {
			w.see(e)
			signal(w.news)
		}
	}()
	return w
}

func (w *witness) see(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := e.(type) {
	case Up:
		if w.up[e.Name] {
			w.t.Errorf("%s: the link to %s came up twice", w.name, e.Name)
		}
		w.up[e.Name] = true
	case Down:
		w.up[e.Name] = false
	case Received:
		was, is := w.last[e.From], position{e.Incarnation, e.Message.Election.Sequence}
		if is.incarnation < was.incarnation || is.incarnation == was.incarnation &&
			is.sequence <= was.sequence {
			w.t.Errorf("%s: %s said %v after %v", w.name, e.From, is, was)
		}
		w.last[e.From] = is
	case Asked:
		e.Answer(w.name, 0)
	case Answered:
		if !w.up[e.From] {
			w.t.Errorf("%s: %s answered on a link that is not up", w.name, e.From)
		}
	}
}

// TestTheContractHoldsInAStorm kills, restarts, links, unlinks, admits and removes processes at
// random while all send to all. Afterwards all are admitted again, and all must receive the next
// message of all.
func TestTheContractHoldsInAStorm(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		random := seeded(t)
		names := []string{"a", "b", "c", "d"}
		s := &storm{
			t:            t,
			fabric:       f,
			names:        names,
			news:         make(chan struct{}, 1),
			links:        map[string]Links{},
			seen:         map[string]*witness{},
			incarnations: map[string]uint64{},
		}
		for _, name := range names {
			s.start(name)
		}
		for range 300 {
			name := names[random.IntN(len(names))]
			switch random.IntN(13) {
			case 0:
				s.fabric.kill(name)
				s.start(name)
			case 1:
				s.links[name].Link(some(random, names))
			case 2:
				s.links[name].Admit(s.members(some(random, names)))
			case 3:
				s.introduce(name)
			case 4:
				s.breathe(time.Duration(random.IntN(2000)) * time.Microsecond)
			case 5: // half of its lifetime has passed, so that links are renewed soon
				life := time.Duration(random.IntN(2000)) * time.Millisecond
				s.fabric.certify(name, time.Now().Add(-life), time.Now().Add(life))
			default:
				s.talk(name)
			}
		}
		for _, name := range names {
			s.fabric.certify(name, time.Now(), time.Now().Add(time.Hour))
			s.introduce(name)
		}
		s.calm()
	})
}

type storm struct {
	t            *testing.T
	fabric       fabric
	names        []string
	news         chan struct{} // some process has seen an event
	links        map[string]Links
	seen         map[string]*witness
	incarnations map[string]uint64
	said         uint64
}

func (s *storm) start(name string) {
	if old := s.links[name]; old != nil {
		old.Close()
		<-s.seen[name].done
	}
	s.incarnations[name]++
	s.links[name] = s.fabric.join(name, s.incarnations[name])
	s.seen[name] = watch(s.t, fmt.Sprintf("%s/%d", name, s.incarnations[name]), s.links[name], s.news)
	s.introduce(name)
}

func (s *storm) introduce(name string) {
	s.links[name].Admit(s.members(s.names))
	s.links[name].Link(s.names)
}

func (s *storm) members(names []string) []Member {
	members := make([]Member, len(names))
	for i, name := range names {
		members[i] = s.fabric.member(name)
	}
	return members
}

func (s *storm) talk(name string) {
	for _, to := range s.names {
		s.said++
		s.links[name].Send(to, "Bully", 0, say(int(s.said)))
		s.links[name].Ask(to, s.said, 0)
	}
}

// breathe waits until an event is seen, or for a while.
func (s *storm) breathe(atMost time.Duration) bool {
	select {
	case <-s.news:
		return true
	case <-time.After(atMost):
		return false
	}
}

// calm expects all processes to receive from all again: messages may be lost only until the links
// are up.
func (s *storm) calm() {
	before := s.said
	for !s.allHeardAfter(before) {
		for _, name := range s.names {
			s.talk(name)
		}
		if !s.breathe(10 * time.Second) {
			s.t.Fatal("after the storm some do not hear each other, and nothing happens any more")
		}
	}
	for _, name := range s.names {
		s.links[name].Leave(s.t.Context()) // a Leave on each link: it must not hang
	}
	for _, name := range s.names {
		s.links[name].Close()
		<-s.seen[name].done
	}
}

func (s *storm) allHeardAfter(sequence uint64) bool {
	for _, name := range s.names {
		w := s.seen[name]
		w.mu.Lock()
		for _, from := range s.names {
			if from != name && (w.last[from].sequence <= sequence || !w.up[from]) {
				w.mu.Unlock()
				return false
			}
		}
		w.mu.Unlock()
	}
	return true
}

func some(random *rand.Rand, names []string) []string {
	var chosen []string
	for _, name := range names {
		if random.IntN(2) == 0 {
			chosen = append(chosen, name)
		}
	}
	return chosen
}
