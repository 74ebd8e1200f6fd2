package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/fence"
	"github.com/podesta-dev/podesta/examples/internal/device"
	"github.com/podesta-dev/podesta/examples/internal/message"
)

const (
	patience = time.Second // how long a process waits for a response of another one
	// longer: who gave up would not know whether the other is inside
	grantPatience  = 5 * time.Second
	devicePatience = time.Minute            // longer: who gave up would not know whether it has acted
	repeatEvery    = 200 * time.Millisecond // a request that waits
	acts           = 3                      // how often a process acts each time that it is inside
)

// process wants to use the device again and again. When its agent permits it, it is the
// coordinator, too.
type process struct {
	name   string
	peers  []message.Peer
	device device.Client
	pause  time.Duration // between two acts, and between two uses

	sender  message.Sender
	granter message.Sender
	gate    fence.Gate // refuses the messages of former coordinators
	granted chan grant // what the coordinator has granted

	mu          sync.Mutex
	waits       request // the zero request if it does not wait
	inside      device.Turn
	coordinator string // that it follows
	desk        *desk  // its own, while it is the coordinator
	former      *desk  // the last that it had
}

func newProcess(
	name string, peers []message.Peer, deviceURL string, pause time.Duration,
) (*process, error) {
	if !slices.ContainsFunc(peers, func(p message.Peer) bool { return p.Name == name }) {
		return nil, fmt.Errorf("%s is not among the processes %v", name, peers)
	}
	return &process{
		name:  name,
		peers: peers,
		device: device.Client{
			Name:   name,
			URL:    deviceURL,
			Sender: message.NewSender(devicePatience),
		},
		pause:   pause,
		sender:  message.NewSender(patience),
		granter: message.NewSender(grantPatience),
		granted: make(chan grant, 1),
	}, nil
}

func (p *process) say(format string, args ...any) {
	fmt.Printf("%s %s\n", p.name, fmt.Sprintf(format, args...))
}

// follow takes note of the coordinator that the agent names.
func (p *process) follow(v agent.View) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coordinator = v.Coordinator
}

// handler takes messages. ENTER and RELEASE are for the coordinator. Those that the coordinator
// sends are fenced: a former coordinator that was paused cannot grant anything.
func (p *process) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /enter", message.Handler(p.hearEnter))
	mux.Handle("POST /release", message.Handler(p.hearRelease))
	orders := http.NewServeMux()
	orders.Handle("POST /coordinator/ask", message.Handler(p.answer))
	orders.Handle("POST /coordinator/grant", message.Handler(p.take))
	mux.Handle("/coordinator/", &fence.Handler{Gate: &p.gate, Next: orders})
	return mux
}

// run uses the device again and again, until ctx ends.
func (p *process) run(ctx context.Context) error {
	for {
		g, err := p.enter(ctx)
		if err != nil {
			return err
		}
		if err := p.use(ctx, g); err != nil {
			p.say("leaves: %v", err)
		}
		p.leave(ctx, g)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(p.pause):
		}
	}
}

// enter sends ENTER, and waits for GRANT. It repeats ENTER with its ticket, because the coordinator
// may be another one, which has not heard of it. What it returns has the first ticket that it was
// given.
func (p *process) enter(ctx context.Context) (grant, error) {
	p.mu.Lock()
	p.waits = request{Process: p.name, ID: time.Now().UnixNano()}
	p.mu.Unlock()
	var first Ticket // of this request
	for {
		p.mu.Lock()
		r, coordinator := p.waits, p.coordinator
		p.mu.Unlock()
		if to := p.peer(coordinator); to.URL != "" && r.ID != 0 {
			var given Ticket
			if p.sender.Send(ctx, to.URL+"/enter", r, &given) == nil {
				p.keep(r, given)
				first = cmp.Or(first, given)
			}
		}
		select {
		case g := <-p.granted:
			g.Ticket = cmp.Or(first, g.Ticket)
			return g, nil
		case <-ctx.Done():
			return grant{}, ctx.Err()
		case <-time.After(repeatEvery):
		}
	}
}

// keep keeps the ticket of a request that still waits.
func (p *process) keep(r request, ticket Ticket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits.ID == r.ID {
		p.waits.Ticket = ticket
	}
}

func (p *process) peer(name string) message.Peer {
	for _, peer := range p.peers {
		if peer.Name == name {
			return peer
		}
	}
	return message.Peer{}
}

// use is the critical section.
func (p *process) use(ctx context.Context, g grant) error {
	ticket, err := json.Marshal(g.Ticket) // for who watches the order
	if err != nil {
		return err
	}
	for range acts {
		if err := p.device.Act(ctx, g.Turn, string(ticket)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(p.pause):
		}
	}
	return nil
}

// leave sends RELEASE. If that is lost, the coordinator learns it when it asks.
func (p *process) leave(ctx context.Context, g grant) {
	p.mu.Lock()
	p.inside = device.Turn{}
	to := p.peer(p.coordinator)
	p.mu.Unlock()
	if to.URL != "" {
		_ = p.sender.Send(ctx, to.URL+"/release", g, nil)
	}
}

// grant is the coordinator's GRANT, and what RELEASE gives back.
type grant struct {
	ID     int64       `json:"id"` // of the request
	Ticket Ticket      `json:"ticket"`
	Turn   device.Turn `json:"turn"`
}

// take takes a grant, if the request still waits.
func (p *process) take(_ context.Context, g grant) (struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g.ID == 0 || g.ID != p.waits.ID {
		return struct{}{}, message.Refuse("%s does not wait with request %d", p.name, g.ID)
	}
	p.waits, p.inside = request{}, g.Turn
	p.granted <- g // there is room: enter waits, and has one request
	return struct{}{}, nil
}

// state is what a process tells of itself.
type state struct {
	Waits  request     `json:"waits"`
	Inside device.Turn `json:"inside"`
}

// answer answers the coordinator.
func (p *process) answer(context.Context, struct{}) (state, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return state{Waits: p.waits, Inside: p.inside}, nil
}
