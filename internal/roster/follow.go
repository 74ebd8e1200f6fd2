package roster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// follow is one session: it passes the manager's updates on and sends reports, until either end closes it or the
// certificate has been renewed.
func (c *Client) follow(ctx context.Context, updates chan<- Update) error {
	conn, reached, err := c.connect(c.Keyring)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	manager := rosterpb.NewRosterServiceClient(conn)
	stream, err := manager.Follow(ctx)
	if err != nil {
		c.refused = reached.Load()
		return fmt.Errorf("follow the roster: %w", err)
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel(nil)
	tasks.Go(func() { c.sendReports(ctx, stream) })
	tasks.Go(func() { cancel(c.renew(ctx, manager)) })
	heard, err := c.receive(ctx, stream, updates)
	c.refused = reached.Load() && !heard
	if cause := context.Cause(ctx); errors.Is(cause, errRenewed) {
		return cause
	}
	return fmt.Errorf("follow the roster: %w", err)
}

type followStream = grpc.BidiStreamingClient[rosterpb.Report, rosterpb.Update]

// receive passes updates on until the stream ends. heard says whether the manager said anything at all: one that knows our
// certificate always begins with its CA bundle.
func (c *Client) receive(ctx context.Context, stream followStream, updates chan<- Update) (heard bool, err error) {
	for {
		message, err := stream.Recv()
		if err != nil {
			return heard, err
		}
		if !heard {
			heard = true
			c.Logger.Info("following the manager", "manager", c.Address)
		}
		update, err := c.take(message)
		if err != nil {
			return heard, err
		}
		if update == (Update{}) {
			continue
		}
		select {
		case updates <- update:
		case <-ctx.Done():
			return heard, ctx.Err()
		}
	}
}

// take handles what is the client's own business (trust) and returns what is the agent's; nothing for a kind of update that
// a newer manager may know and this client does not.
func (c *Client) take(message *rosterpb.Update) (Update, error) {
	switch u := message.GetUpdate().(type) {
	case *rosterpb.Update_Trust:
		return Update{}, c.adopt(nil, nil, u.Trust)
	case *rosterpb.Update_Gone:
		return Update{Gone: true}, nil
	case *rosterpb.Update_Roster:
		r, err := rosterFromWire(u.Roster)
		if err != nil {
			return Update{}, fmt.Errorf("the manager sent a roster that cannot be right: %w", err)
		}
		if own, _ := c.Keyring.Name(); own.Namespace != r.Namespace || own.Group != r.Group {
			return Update{}, fmt.Errorf("the manager sent the roster of %s/%s, this process is of %s/%s", r.Namespace,
				r.Group, own.Namespace, own.Group)
		}
		return Update{Roster: &r}, nil
	}
	return Update{}, nil
}

// sendReports sends the newest report whenever it differs from the last one sent on this stream. A failing stream shows in
// receive.
func (c *Client) sendReports(ctx context.Context, stream followStream) {
	var sent *Report
	for {
		if newest := c.newest.Load(); newest != nil && (sent == nil || !reflect.DeepEqual(*sent, *newest)) {
			if stream.Send(reportToWire(*newest)) != nil {
				return
			}
			sent = newest
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
	}
}

// renew waits until half of the certificate's life is over and gets the next one over the session's connection; it returns
// errRenewed then, or nil when ctx ends. A renewal that fails leaves the session as it is and is tried again after a tenth
// of what remains, at least a minute.
func (c *Client) renew(ctx context.Context, manager rosterpb.RosterServiceClient) error {
	wait := time.Until(c.Keyring.RenewAt())
	for sleep(ctx, wait) {
		err := c.join(ctx, manager, "")
		if err == nil {
			return errRenewed
		}
		wait = max(time.Until(c.Keyring.NotAfter())/10, time.Minute)
		if ctx.Err() == nil {
			c.Logger.Warn("the certificate was not renewed", "error", err, "validUntil", c.Keyring.NotAfter(), "retryIn", wait)
		}
	}
	return nil
}
