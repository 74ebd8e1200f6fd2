package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/client/fence"
	"github.com/podesta-dev/podesta/examples/internal/device"
	"github.com/podesta-dev/podesta/examples/internal/message"
)

// Token is what the processes pass round: who has it may use the device. It carries the epoch of
// the coordinator that made it, its number under that epoch, and how often it was passed on. Of two
// tokens, the higher one counts.
type Token = device.Turn

const (
	// askPatience is how long a coordinator waits for an answer; probePatience, how long a process
	// waits to learn whether the next one is there at all.
	askPatience   = time.Second
	probePatience = 300 * time.Millisecond
	// These are longer, because a process that gave up would not know whether the next one has the
	// token, or whether it has acted.
	passPatience   = 5 * time.Second
	devicePatience = time.Minute
	// acts is how often a process acts each time that it has the token.
	acts = 3
)

// process is a member of the ring.
type process struct {
	name   string
	ring   []message.Peer // all processes; each passes the token on to the one after it
	device device.Client
	pause  time.Duration // between two acts

	asker  message.Sender
	prober message.Sender
	passer message.Sender
	gate   fence.Gate // refuses the messages of former coordinators

	arrived chan struct{} // there is a new token

	mu     sync.Mutex
	seen   Token // the highest token that it knows of
	held   Token // the token that it has; the zero Token if it has none
	issued Token // the last token that it made as the coordinator
}

func newProcess(
	name string, ring []message.Peer, deviceURL string, pause time.Duration,
) (*process, error) {
	if !slices.ContainsFunc(ring, func(p message.Peer) bool { return p.Name == name }) {
		return nil, fmt.Errorf("%s is not in the ring %v", name, ring)
	}
	return &process{
		name: name,
		ring: ring,
		device: device.Client{
			Name:   name,
			URL:    deviceURL,
			Sender: message.NewSender(devicePatience),
		},
		pause:   pause,
		asker:   message.NewSender(askPatience),
		prober:  message.NewSender(probePatience),
		passer:  message.NewSender(passPatience),
		arrived: make(chan struct{}, 1),
	}, nil
}

func (p *process) say(format string, args ...any) {
	fmt.Printf("%s %s\n", p.name, fmt.Sprintf(format, args...))
}

// state is what a process tells of itself.
type state struct {
	Seen  Token `json:"seen"`
	Holds bool  `json:"holds"` // it has the token that it has seen last
}

func (p *process) state() state {
	p.mu.Lock()
	defer p.mu.Unlock()
	return state{Seen: p.seen, Holds: p.held == p.seen && p.held != Token{}}
}

// handler takes messages of the ring, and those of the coordinator. The coordinator acts on the
// processes, so its messages are fenced: a former coordinator that was paused cannot replace a
// token.
func (p *process) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /token", message.Handler(p.take))
	mux.Handle("POST /ready", message.Handler(func(context.Context, struct{}) (struct{}, error) {
		return struct{}{}, nil
	}))
	orders := http.NewServeMux()
	orders.Handle("POST /coordinator/ask", message.Handler(p.answer))
	orders.Handle("POST /coordinator/token", message.Handler(p.take))
	mux.Handle("/coordinator/", &fence.Handler{Gate: &p.gate, Next: orders})
	return mux
}

// take takes a token, unless the process knows of one that is as high: then this one was only late,
// and another has replaced it.
func (p *process) take(_ context.Context, t Token) (struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.Compare(p.seen) <= 0 {
		return struct{}{}, message.Refuse("%s knows of token %v", p.name, p.seen)
	}
	p.seen, p.held = t, t
	select {
	case p.arrived <- struct{}{}:
	default: // it has yet to look
	}
	return struct{}{}, nil
}

// question is what the coordinator asks.
type question struct {
	// Void, unless it is zero, is a token: it and all before it are no longer valid.
	Void Token `json:"void"`
}

// answer answers the coordinator.
func (p *process) answer(_ context.Context, q question) (state, error) {
	p.mu.Lock()
	if q.Void.Compare(p.seen) > 0 {
		p.seen = q.Void
	}
	p.mu.Unlock()
	return p.state(), nil
}

// run uses the device whenever the token arrives, and passes it on, until ctx ends.
func (p *process) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.arrived:
		}
		t, valid := p.token()
		if !valid {
			continue // a coordinator has replaced it
		}
		err := p.use(ctx, t)
		switch {
		case device.Over(err):
			p.say("drops token %v: %v", t, err)
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			p.say("cannot use the device: %v", err)
			p.rest(ctx) // or the token goes round as fast as it can
			fallthrough
		default:
			p.pass(ctx, t)
		}
		p.drop(t)
	}
}

// token returns the token that the process has, and reports whether it is still the highest.
func (p *process) token() (t Token, valid bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held, p.held == p.seen
}

// use is the critical section.
func (p *process) use(ctx context.Context, t Token) error {
	for i := range acts {
		if err := p.device.Act(ctx, t, fmt.Sprintf("%d of %d", i+1, acts)); err != nil {
			return err
		}
		p.rest(ctx)
	}
	return ctx.Err()
}

func (p *process) rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(p.pause):
	}
}

// drop forgets a token that the process no longer has.
func (p *process) drop(t Token) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == t {
		p.held = Token{}
	}
}

// pass gives the token to the next process that answers. It is sent to one process only: if it is
// not known whether that one has it, it may be lost, and to replace it is the coordinator's job.
func (p *process) pass(ctx context.Context, t Token) {
	t.Hop++
	for _, next := range p.successors() {
		if next.Name != p.name && p.prober.Send(ctx, next.URL+"/ready", struct{}{}, nil) != nil {
			continue // it has not got the token for certain
		}
		err := p.passer.Send(ctx, next.URL+"/token", t, nil)
		switch {
		case message.Gone(err):
			continue
		case message.Refused(err):
			p.say("drops token %v: %v", t, err)
		case err != nil && ctx.Err() == nil:
			p.say("cannot know whether %s has token %v: %v", next.Name, t, err)
		}
		return
	}
}

// successors returns the ring from the process after this one on; this one is the last.
func (p *process) successors() []message.Peer {
	i := slices.IndexFunc(p.ring, func(q message.Peer) bool { return q.Name == p.name })
	return slices.Concat(p.ring[i+1:], p.ring[:i+1])
}
