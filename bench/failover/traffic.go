package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
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

func (g *group) metrics(ctx context.Context, name string) (s sent, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+g.host(name)+":4042/metrics", nil)
	if err != nil {
		return s, err
	}
	response, err := g.apps.http.Do(request)
	if err != nil {
		return s, err
	}
	defer response.Body.Close()
	return readSent(response.Body)
}

// readSent adds up the counters of sent messages, whatever their labels, in Prometheus' text
// format.
func readSent(r io.Reader) (s sent, err error) {
	families := map[string]*float64{
		"podesta_agent_questions_sent_total":       &s.questions,
		"podesta_agent_answers_sent_total":         &s.answers,
		"podesta_agent_lease_requests_sent_total":  &s.requests,
		"podesta_agent_lease_responses_sent_total": &s.responses,
		"podesta_agent_messages_sent_total":        &s.messages,
	}
	lines, known := bufio.NewScanner(r), 0
	for lines.Scan() {
		line := lines.Text()
		end := strings.LastIndex(line, " ") // there are spaces in labels: "TAKE OVER"
		if end < 0 {
			continue
		}
		name, value := line[:end], line[end+1:]
		family, _, _ := strings.Cut(name, "{")
		sum := families[family]
		if sum == nil {
			continue
		}
		known++
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return s, fmt.Errorf("metric %q: %w", lines.Text(), err)
		}
		*sum += n
	}
	if err := lines.Err(); err != nil || known > 0 {
		return s, err
	}
	return s, errors.New("no metric tells what was sent: have their names changed?")
}
