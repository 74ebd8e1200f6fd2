package roster

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// subscription is one Follow of one agent.
type subscription struct {
	name identity.Name
	// counts the subscriptions of this server; the newest subscription of a pod counts
	number     uint64
	notAfter   time.Time     // of the certificate with which it was opened
	wake       chan struct{} // signals that something was published; capacity 1
	superseded chan struct{} // closed by a newer subscription of the pod
	mayShow    atomic.Bool   // the agent was asked for its roster, and has not shown one yet
}

func newSubscription(name identity.Name, number uint64, notAfter time.Time) *subscription {
	return &subscription{
		name:       name,
		number:     number,
		notAfter:   notAfter,
		wake:       make(chan struct{}, 1),
		superseded: make(chan struct{}),
	}
}

func (s *subscription) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscription) supersede() { close(s.superseded) }

// sender sends an update to an agent.
type sender func(*rosterpb.Update) error

type serverStream = grpc.BidiStreamingServer[rosterpb.Report, rosterpb.Update]

// sent is what was already sent on a subscription.
type sent struct {
	trust  string
	roster *Roster
	gone   bool
	recall int // the agent was asked for its roster at this Recall
}

// send sends the agent whatever is published until the subscription ends. received delivers the
// error that ended the receiving side; moved is asked about an agent that was told Gone.
func (s *subscription) send(ctx context.Context, p *publisher, send sender,
	received <-chan error, moved func(context.Context, identity.Name) error,
	now func() time.Time) error {
	expiry := time.NewTimer(s.notAfter.Sub(now()))
	defer expiry.Stop()
	var last sent
	for {
		var updates []*rosterpb.Update
		var err error
		if updates, last, err = s.pending(p, last); err != nil {
			return err
		}
		for _, u := range updates {
			if err := send(u); err != nil {
				return err
			}
		}
		if last.gone {
			if err := moved(ctx, s.name); err != nil {
				return err
			}
		}
		select {
		case <-s.wake:
		case err := <-received:
			return err
		case <-s.superseded:
			return status.Errorf(codes.Aborted, "replaced by a newer connection of %s", s.name.Pod)
		case <-expiry.C:
			return status.Error(codes.Unauthenticated, "the certificate of this connection has "+
				"expired: join again")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pending returns what the agent has not been sent yet.
func (s *subscription) pending(p *publisher, last sent) ([]*rosterpb.Update, sent, error) {
	var updates []*rosterpb.Update
	trust, roster, known := p.read(s.name)
	if trust != last.trust {
		updates = append(updates, &rosterpb.Update{
			Update: &rosterpb.Update_Trust{Trust: []byte(trust)},
		})
		last.trust = trust
	}
	if recall := p.recalled(s.name); recall > last.recall {
		last.recall = recall
		s.mayShow.Store(true)
		updates = append(updates, &rosterpb.Update{
			Update: &rosterpb.Update_Show{Show: &rosterpb.ShowRequest{}},
		})
	}
	switch {
	case !known:
	case roster == nil || !roster.Has(s.name.Pod, s.name.UID):
		if !last.gone {
			updates = append(updates, &rosterpb.Update{
				Update: &rosterpb.Update_Gone{Gone: &rosterpb.Gone{}},
			})
		}
		last.gone, last.roster = true, nil
	case roster != last.roster:
		signed, err := p.sign(s.name, roster)
		if err != nil {
			return nil, last, status.Errorf(codes.Unavailable, "the manager cannot sign: %v", err)
		}
		if signed == nil {
			break
		}
		updates = append(updates, &rosterpb.Update{
			Update: &rosterpb.Update_Roster{Roster: signed},
		})
		last.gone, last.roster = false, roster
	}
	return updates, last, nil
}

// receive stores reports until the stream ends or an agent sends an invalid one.
func (s *subscription) receive(stream serverStream, sightings *Sightings) error {
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		report, err := reportFromWire(message)
		if err != nil {
			return status.Errorf(codes.InvalidArgument, "report: %v", err)
		}
		sightings.reported(s.name, s, report)
	}
}
