package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/fence"
	"github.com/podesta-dev/podesta/examples/internal/message"
)

const (
	askEvery = 100 * time.Millisecond
	// lossPatience is how long a process that is silent is waited for before its token counts as lost.
	lossPatience = 2 * time.Second
)

// coordinate replaces the token when it is lost, until ctx ends. agent.Run calls it under the epoch
// of the lease; the epoch is in ctx, too, and so in every message to the processes.
func (p *process) coordinate(ctx context.Context, epoch agent.Epoch) error {
	p.say("coordinates under epoch %v", epoch)
	err := p.watch(ctx, epoch)
	if ctx.Err() == nil { // a process has refused this epoch, so the permission is about to end
		p.say("no longer coordinates: %v", err)
		<-ctx.Done()
	}
	return ctx.Err()
}

func (p *process) watch(ctx context.Context, epoch agent.Epoch) error {
	l := loss{patience: lossPatience}
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		r, _, err := p.ask(ctx, question{})
		if err == nil && l.is(r, time.Now()) {
			l.forget()
			err = p.replace(ctx, epoch, r.highest)
		}
		if errors.Is(err, fence.ErrStale) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// ask asks every process, and returns those that answered. The error says that one of them has
// heard a newer coordinator.
func (p *process) ask(ctx context.Context, q question) (round, []message.Peer, error) {
	answers, errs := make([]state, len(p.ring)), make([]error, len(p.ring))
	var all sync.WaitGroup
	ring := p.successors()
	for i, peer := range ring {
		all.Go(func() {
			errs[i] = p.asker.Fenced().Send(ctx, peer.URL+"/coordinator/ask", q, &answers[i])
		})
	}
	all.Wait()
	var r round
	var there []message.Peer
	for i, peer := range ring {
		switch {
		case errors.Is(errs[i], fence.ErrStale):
			return r, nil, errs[i]
		case message.Gone(errs[i]):
		case errs[i] != nil:
			r.silent++
		default:
			there = append(there, peer)
			if answers[i].Seen.Compare(r.highest) > 0 {
				r.highest, r.held = answers[i].Seen, false
			}
			if answers[i].Seen == r.highest {
				r.held = r.held || answers[i].Holds
			}
		}
	}
	return r, there, nil
}

// replace makes a token in place of the lost one. First every process that answers learns that the
// lost one is void, so that it is no second one if it was only late. Then one process gets the new
// token: not this one if another is there, because that one knows if there is a newer coordinator.
func (p *process) replace(ctx context.Context, epoch agent.Epoch, lost Token) error {
	token := p.next(epoch, lost)
	_, there, err := p.ask(ctx, question{Void: token})
	if err != nil {
		return err
	}
	token.Hop++
	for _, peer := range there {
		if ctx.Err() != nil { // right before each effect
			return ctx.Err()
		}
		err := p.passer.Fenced().Send(ctx, peer.URL+"/coordinator/token", token, nil)
		if message.Gone(err) {
			continue
		}
		if err != nil { // it may have the token all the same; if not, that one is lost, too
			return err
		}
		p.sayReplaced(lost, token, peer.Name)
		return nil
	}
	return nil
}

func (p *process) sayReplaced(lost, token Token, holder string) {
	lost.Hop, token.Hop = 0, 0
	if (lost == Token{}) {
		p.say("makes the first token, %v, and gives it to %s", token, holder)
		return
	}
	p.say("finds token %v lost, replaces it by %v, and gives that to %s", lost, token, holder)
}

// next returns the number of a new token, above all that have been.
func (p *process) next(epoch agent.Epoch, lost Token) Token {
	p.mu.Lock()
	defer p.mu.Unlock()
	token := Token{Epoch: epoch, Number: 1}
	for _, t := range []Token{lost, p.issued} {
		if t.Epoch == epoch {
			token.Number = max(token.Number, t.Number+1)
		}
	}
	p.issued = token
	return token
}
