package main

import (
	"context"
	"fmt"
	"time"

	"github.com/podesta-dev/podesta/bench/exposition"
)

// sent is how many messages an agent has sent, by what they are for.
type sent struct {
	questions, answers  float64 // of the failure detector
	requests, responses float64 // of lease
	messages            float64 // of elections
}

func (s sent) total() float64 {
	return s.questions + s.answers + s.requests + s.responses + s.messages
}

// plus is s with so many times the other.
func (s sent) plus(times float64, other sent) sent {
	return sent{
		questions: s.questions + times*other.questions,
		answers:   s.answers + times*other.answers,
		requests:  s.requests + times*other.requests,
		responses: s.responses + times*other.responses,
		messages:  s.messages + times*other.messages,
	}
}

// count is what an agent had sent at an instant.
type count struct {
	sent
	at time.Time
}

// rate is what it sent a second since an earlier count. It is an error if it has sent less since.
func (c count) rate(earlier count) (sent, error) {
	more, took := c.plus(-1, earlier.sent), c.at.Sub(earlier.at)
	for _, n := range [...]float64{more.questions, more.answers, more.requests, more.responses,
		more.messages} {
		if n < 0 || took <= 0 {
			return sent{}, fmt.Errorf("%+v messages in %v: the agent was started anew", more, took)
		}
	}
	return sent{}.plus(1/took.Seconds(), more), nil
}

// traffic asks every agent how much it has sent.
func (g *group) traffic(ctx context.Context) (map[string]count, error) {
	all := map[string]count{}
	for _, name := range g.names {
		s, err := g.metrics(ctx, name)
		if err != nil {
			return nil, err
		}
		all[name] = count{s, time.Now()}
	}
	return all, nil
}

// metrics are an agent's counters of sent messages, whatever their labels.
func (g *group) metrics(ctx context.Context, name string) (s sent, err error) {
	all, err := exposition.Get(ctx, "http://"+g.host(name)+":4042/metrics")
	if err != nil {
		return s, err
	}
	for family, sum := range map[string]*float64{
		"questions":       &s.questions,
		"answers":         &s.answers,
		"lease_requests":  &s.requests,
		"lease_responses": &s.responses,
		"messages":        &s.messages,
	} {
		family = "podesta_agent_" + family + "_sent_total"
		n, ok := all[family]
		if !ok && family != "podesta_agent_lease_requests_sent_total" &&
			family != "podesta_agent_lease_responses_sent_total" { // a Classic group has none
			return s, fmt.Errorf("%s has no %s", name, family)
		}
		*sum = n
	}
	return s, nil
}
