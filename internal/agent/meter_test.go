package agent_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

// sent is how many messages of each kind a process has sent.
type sent struct{ questions, answers, claims, promises float64 }

func (p *process) sent(t *testing.T) sent {
	text := bytes.NewBufferString("\n")
	if err := p.meter.Write(text); err != nil {
		t.Error(err)
	}
	count := func(name string) float64 { return sample(t, text.String(), name) }
	return sent{count("podesta_agent_questions_sent_total"), count("podesta_agent_answers_sent_total"),
		count(`podesta_agent_lease_requests_sent_total{kind="VOTE"}`) + count(`podesta_agent_lease_requests_sent_total{kind="RENEW"}`), count(`podesta_agent_lease_responses_sent_total{granted="true"}`)}
}

// A quiet group sends heartbeats and nothing else: in a Classic one each follower asks and the
// coordinator answers, in a Guarded one the holder renews, the voters promise, and a follower asks
// at every tenth heartbeat only.
func TestTrafficOfAQuietGroup(t *testing.T) {
	const beats = 100
	for _, c := range []struct {
		safety                string
		coordinator, follower sent
	}{
		{roster.Classic, sent{answers: 2 * beats}, sent{questions: beats}},
		{roster.Guarded, sent{answers: 2 * beats / 10, claims: 2 * beats}, sent{questions: beats / 10, promises: beats}},
	} {
		t.Run(c.safety, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				g := startGroup(t, roster.Roster{Algorithm: "Bully", Safety: c.safety, Lease: leaseTime, Preemption: roster.Never}, 3)
				g.agree("p3")
				<-time.After(leaseTime)
				before := map[string]sent{"p1": g.agents["p1"].sent(t), "p3": g.agents["p3"].sent(t)}
				<-time.After(beats * heartbeat)
				for name, want := range map[string]sent{"p1": c.follower, "p3": c.coordinator} {
					was, is := before[name], g.agents[name].sent(t)
					got := sent{is.questions - was.questions, is.answers - was.answers, is.claims - was.claims, is.promises - was.promises}
					near := func(a, b float64) bool { return math.Abs(a-b) <= 2+b/10 } // beats drift, by less than a tenth
					if !near(got.questions, want.questions) || !near(got.answers, want.answers) || !near(got.claims, want.claims) || !near(got.promises, want.promises) {
						t.Errorf("%s sent %+v, want about %+v", name, got, want)
					}
				}
			})
		})
	}
}

// agreeOnSomebody waits until all follow the same process.
func (g *group) agreeOnSomebody() {
	for begun := time.Now(); time.Since(begun) < time.Minute; <-time.After(heartbeat) {
		follows := map[string]bool{}
		for _, p := range g.agents {
			follows[p.view().Coordinator] = true
		}
		if len(follows) == 1 && !follows[""] {
			return
		}
	}
	g.t.Fatal("no agreement within a minute")
}

// Elections that end without a coordinator are counted, for as long as there are any.
func TestElectionsWithoutACoordinator(t *testing.T) {
	for _, algorithm := range []string{"Bully", "StatusTableBully", "RingList"} {
		t.Run(algorithm, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				g := startGroup(t, roster.Roster{Algorithm: algorithm, Safety: roster.Classic}, 3)
				g.agree("p3")
				ended := func() float64 {
					return g.agents["p1"].value(t, "podesta_agent_election_timeouts_total")
				}
				begun := ended()
				prioritise := func(all ...int32) {
					g.edit(func(r *roster.Roster) {
						for i := range r.Processes {
							r.Processes[i].Priority = all[i]
						}
					})
				}
				prioritise(0, 0, 0)
				<-time.After(time.Minute)
				if n := ended() - begun; n < 2 {
					t.Errorf("%v elections ended without a coordinator, in a minute without a candidate", n)
				}
				prioritise(1, 2, 3)
				g.agree("p3")
				last := ended()
				<-time.After(time.Minute)
				if ended() != last {
					t.Errorf("while p3 coordinates, %v more elections ended without a coordinator", ended()-last)
				}
			})
		})
	}
}
