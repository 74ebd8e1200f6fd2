package main

import (
	"strings"
	"testing"
	"time"
)

func TestReadSent(t *testing.T) {
	const metrics = `podesta_agent_epoch 1048577
podesta_agent_answers_sent_total 30
podesta_agent_lease_requests_sent_total{kind="VOTE"} 400
podesta_agent_lease_requests_sent_total{kind="PREVOTE"} 4
podesta_agent_lease_requests_sent_total{kind="TAKE OVER"} 0
podesta_agent_questions_sent_total 20
podesta_agent_lease_responses_sent_total{granted="true"} 1
podesta_agent_messages_sent_total{kind="ELECTION"} 5
podesta_agent_messages_sent_total_of_another_family 1000
`
	got, err := readSent(strings.NewReader(metrics))
	if want := (sent{questions: 20, answers: 30, requests: 404, responses: 1, messages: 5}); got != want || err != nil {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, err := readSent(strings.NewReader("podesta_agent_answers_sent_total many\n")); err == nil {
		t.Error("many is a number")
	}
	if got, err := readSent(strings.NewReader("podesta_agent_epoch 1048577\n")); err == nil {
		t.Errorf("metrics of nothing that was sent: %+v", got)
	}
}

func TestRate(t *testing.T) {
	begun := time.Now()
	earlier := count{sent{questions: 10, messages: 4}, begun}
	later := count{sent{questions: 40, messages: 4, responses: 5}, begun.Add(10 * time.Second)}
	got, err := later.rate(earlier)
	if want := (sent{questions: 3, responses: 0.5}); got != want || got.total() != 3.5 || err != nil {
		t.Errorf("got %+v, %v in all, %v; want %+v", got, got.total(), err, want)
	}
	if got, err := (count{sent{questions: 3}, later.at}).rate(earlier); err == nil {
		t.Errorf("fewer questions than before: %+v", got)
	}
	if got, err := earlier.rate(earlier); err == nil {
		t.Errorf("in no time: %+v", got)
	}
}
