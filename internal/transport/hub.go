package transport

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

const (
	queueLength = 64  // frames that wait on one link
	eventsAhead = 256 // events that wait for the agent

	// leastPatience is longer than the kernel's first retransmission, after one second. So a process
	// is not unreachable because a SYN was lost, or because its machine is busy with starting the
	// group.
	leastPatience = 1500 * time.Millisecond
)

// hub implements Links over TLS or the in-memory network. It owns the set of admitted processes,
// this process's links and the streams that other processes opened. Each link and each stream has
// its own goroutines. They reach the hub through its mutex, and never wait for each other while
// they hold it.
type hub struct {
	self        string
	incarnation uint64
	stateID     string
	log         *slog.Logger
	// dial opens a stream to a process, which ends with ctx. It fails with a loss. It is set before
	// the first use, then never changed.
	dial func(ctx context.Context, to Member) (*connection, error)
	file *RosterFile // likewise; nil: the roster is a manager's
	// likewise: it shows others which incarnation this process is
	signer interface {
		sign(incarnation uint64) (*linkpb.Start, error)
		verify(*linkpb.Start) error
	}

	ctx     context.Context // ends at Close
	stop    context.CancelFunc
	running sync.WaitGroup
	events  chan Event
	dropped atomic.Uint64
	// nanoseconds: the heartbeat, which is the longest pause between two attempts
	pace    atomic.Int64
	grace   time.Duration // unlinkedAfter; set before the first use, then never changed
	closing sync.Once

	mu      sync.Mutex
	members map[string]Member
	// of the members; the processes that are on no roster any more are forgotten
	acquainted map[string]*acquaintance
	rivalTold  time.Time // when an ERROR told of another copy of this process last
	wanted     map[string]bool
	links      map[string]*link
	// the last link that was removed, until it has emitted its last event
	ending  map[string]<-chan struct{}
	served  map[string]*served // the current one of each sender
	leaving bool
	closed  bool
}

func newHub(self string, incarnation uint64, stateID string, reconnect time.Duration,
	log *slog.Logger) *hub {
	ctx, stop := context.WithCancel(context.Background())
	h := &hub{
		self:        self,
		incarnation: incarnation,
		stateID:     stateID,
		log:         log,
		signer:      believer{},
		ctx:         ctx,
		stop:        stop,
		events:      make(chan Event, eventsAhead),
		grace:       unlinkedAfter,
		members:     map[string]Member{},
		acquainted:  map[string]*acquaintance{},
		wanted:      map[string]bool{},
		links:       map[string]*link{},
		ending:      map[string]<-chan struct{}{},
		served:      map[string]*served{},
	}
	h.Pace(reconnect)
	return h
}

func (h *hub) Pace(heartbeat time.Duration) {
	h.pace.Store(int64(max(heartbeat, time.Millisecond)))
}

// reconnect returns the longest pause between two attempts.
func (h *hub) reconnect() time.Duration { return time.Duration(h.pace.Load()) }

// patience returns how long a peer's kernel may take to answer.
func (h *hub) patience() time.Duration { return max(5*h.reconnect(), leastPatience) }

func (h *hub) Admit(members []Member) {
	h.mu.Lock()
	defer h.mu.Unlock()
	admitted := make(map[string]Member, len(members))
	for _, m := range members {
		if m.Name != h.self {
			admitted[m.Name] = m
		}
	}
	h.members = admitted
	h.meet()
	for name, s := range h.served {
		if m, ok := admitted[name]; !ok || m.UID != s.uid {
			s.endAll(refuse(unwanted, "%s with UID %s is no longer on the roster", name, s.uid))
		}
	}
	h.arrange()
}

// meet remembers something of each admitted process, and forgets the rest. Another UID is another
// process.
func (h *hub) meet() {
	maps.DeleteFunc(h.acquainted, func(name string, a *acquaintance) bool {
		m, ok := h.members[name]
		return !ok || m.UID != a.uid
	})
	for name, m := range h.members {
		if h.acquainted[name] == nil {
			h.acquainted[name] = &acquaintance{uid: m.UID}
		}
	}
}

func (h *hub) Link(names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.wanted)
	for _, name := range names {
		h.wanted[name] = true
	}
	h.arrange()
}

// arrange makes the existing links match the wanted ones. A new link to a process waits until the
// one before it has emitted its last event, so that their events do not mix.
func (h *hub) arrange() {
	if h.leaving || h.closed {
		return
	}
	maps.DeleteFunc(h.ending, func(_ string, done <-chan struct{}) bool { return isClosed(done) })
	for name, l := range h.links {
		m, ok := h.members[name]
		if ok && m == l.member && h.wanted[name] {
			continue
		}
		if ok && m == l.member {
			l.retire(false)
		} else {
			l.cancel()
		}
		h.ending[name] = l.done
		delete(h.links, name)
	}
	for name := range h.wanted {
		m, ok := h.members[name]
		if _, there := h.links[name]; !ok || there {
			continue
		}
		l := newLink(h, m, h.ending[name])
		delete(h.ending, name)
		h.links[name] = l
		h.running.Go(l.run)
	}
}

func (h *hub) Send(to string, algorithm string, sequence uint64, m election.Message) {
	frame, err := encode(algorithm, sequence, m)
	if err != nil {
		h.log.Error("not sending a message that no process would accept", "to", to, "kind", m.Kind,
			"error", err)
		h.dropped.Add(1)
		return
	}
	h.enqueue(to, frame)
}

func (h *hub) Ask(to string, sequence uint64, generation int64) {
	h.enqueue(to, askFrame(sequence, generation))
}

func (h *hub) RequestRoster(to string) { h.enqueue(to, rosterRequestFrame()) }

func (h *hub) Request(to string, p lease.Request) {
	frame, err := encodeRequest(p)
	if err != nil {
		h.log.Error("not sending a request that no process would accept", "to", to, "kind", p.Kind,
			"error", err)
		h.dropped.Add(1)
		return
	}
	h.enqueue(to, frame)
}

func (h *hub) enqueue(to string, frame *linkpb.Frame) {
	h.mu.Lock()
	l := h.links[to]
	h.mu.Unlock()
	if l == nil || !l.enqueue(frame) {
		h.dropped.Add(1)
	}
}

func (h *hub) Leave(ctx context.Context) {
	h.mu.Lock()
	h.leaving = true
	links := make([]*link, 0, len(h.links))
	for _, l := range h.links {
		links = append(links, l)
	}
	h.mu.Unlock()
	for _, l := range links {
		l.retire(true)
	}
	for _, l := range links {
		select {
		case <-l.done:
		case <-ctx.Done():
			return
		}
	}
}

func (h *hub) Events() <-chan Event { return h.events }

func (h *hub) Dropped() uint64 { return h.dropped.Load() }

func (h *hub) Close() {
	h.halt()
	h.closing.Do(func() { close(h.events) })
}

// halt stops everything without notice to the peers, and waits for it. All connections end with the
// context. After it nothing is emitted.
func (h *hub) halt() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	h.running.Wait()
}

// start runs f in a goroutine that Close waits for. It returns false if Close was called before.
func (h *hub) start(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.running.Go(f)
	return true
}

// emit waits until the agent has room for e. It returns false if over is closed before, or at
// Close. A nil channel is never closed.
func (h *hub) emit(over <-chan struct{}, e Event) bool {
	if isClosed(over) || h.ctx.Err() != nil {
		return false // select would choose at random
	}
	select {
	case h.events <- e:
		return true
	case <-over:
	case <-h.ctx.Done():
	}
	return false
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
