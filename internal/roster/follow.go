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

// follow runs one subscription: it passes on the manager's updates and sends reports until either
// end closes the subscription or the certificate has been renewed.
func (c *Client) follow(ctx context.Context, updates chan<- Update) error {
	conn, err := c.connect(ctx, c.Keyring)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	manager := rosterpb.NewRosterServiceClient(conn)
	stream, err := manager.Follow(ctx)
	if err != nil {
		return c.failed(conn, err)
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel(nil)
	tasks.Go(func() { c.sendReports(ctx, stream) })
	tasks.Go(func() { cancel(c.renew(ctx, manager)) })
	asked := make(chan struct{}, 1)
	tasks.Go(func() { c.show(ctx, manager, asked) })
	answered, err := c.receive(ctx, stream, updates, asked)
	cause := context.Cause(ctx)
	if errors.Is(cause, errRenewed) {
		c.unanswered = 0
		return cause // the manager accepted the certificate, whether or not an update came before
	}
	if moved := (*MovedError)(nil); errors.As(cause, &moved) {
		return moved
	}
	if !answered {
		return c.failed(conn, err)
	}
	return fmt.Errorf("follow the roster: %w", err)
}

type followStream = grpc.BidiStreamingClient[rosterpb.Report, rosterpb.Update]

// receive passes on updates until the stream ends. answered reports whether the manager sent
// anything at all: a manager that accepts our certificate always starts with its CA bundle.
func (c *Client) receive(ctx context.Context, stream followStream,
	updates chan<- Update, asked chan<- struct{}) (answered bool, err error) {
	for {
		message, err := stream.Recv()
		if err != nil {
			return answered, movedError(err)
		}
		if !answered {
			answered, c.unanswered = true, 0
			c.reconnect.follows(time.Now())
			c.Logger.Info("following the manager", "manager", c.Address)
		}
		c.reconnect.told(message.GetReturnWithinMilliseconds())
		if message.GetShow() != nil {
			select {
			case asked <- struct{}{}:
			default: // it will be shown
			}
			continue
		}
		update, err := c.take(message)
		if err != nil {
			return answered, err
		}
		if update == (Update{}) {
			continue
		}
		select {
		case updates <- update:
		case <-ctx.Done():
			return answered, ctx.Err()
		}
	}
}

// take handles updates that concern the client itself (trust) and returns those for the agent. It
// returns the zero Update for a kind that this client does not know, which comes from a newer
// manager.
func (c *Client) take(message *rosterpb.Update) (Update, error) {
	switch u := message.GetUpdate().(type) {
	case *rosterpb.Update_Trust:
		return Update{}, c.adopt(nil, nil, u.Trust, 0)
	case *rosterpb.Update_Gone:
		return Update{Gone: true}, nil
	case *rosterpb.Update_Roster:
		r, err := Open(c.Keyring, u.Roster)
		if err != nil {
			return Update{}, fmt.Errorf("the manager sent an invalid roster: %w", err)
		}
		if own, _ := c.Keyring.Name(); own.Namespace != r.Namespace || own.Group != r.Group {
			return Update{}, fmt.Errorf("the manager sent the roster of group %s/%s, but this "+
				"process belongs to %s/%s", r.Namespace,
				r.Group, own.Namespace, own.Group)
		}
		return Update{Roster: &r}, nil
	}
	return Update{}, nil
}

// sendReports sends the newest report whenever it differs from the last one that was sent on this
// stream. If the stream fails, receive returns the error.
func (c *Client) sendReports(ctx context.Context, stream followStream) {
	var sent *Report
	for {
		if newest := c.newest.Load(); newest != nil && (sent == nil ||
			!reflect.DeepEqual(*sent, *newest)) {
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
