package roster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// follower is a subscription that an agent has. One goroutine receives; others send reports, pings
// and requests.
type follower struct {
	*connection
	client *Client
	// the answers to the request that is under way; what nobody waits for is dropped
	joined chan *rosterpb.JoinResponse
	shown  chan *rosterpb.Shown
	asked  chan struct{} // signals that the manager asks for the roster in use; capacity 1
}

// follow runs one subscription: it passes on the manager's updates and sends reports until either
// end closes the subscription or the certificate has been renewed.
func (c *Client) follow(ctx context.Context, updates chan<- Update) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	select {
	case <-c.anew: // that is now
	default:
	}
	conn, err := c.connect(ctx, c.Keyring)
	if conn == nil {
		return err
	}
	defer conn.close()
	f := &follower{
		connection: conn,
		client:     c,
		joined:     make(chan *rosterpb.JoinResponse, 1),
		shown:      make(chan *rosterpb.Shown, 1),
		asked:      make(chan struct{}, 1),
	}
	if err == nil {
		err = f.send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Follow{Follow: &rosterpb.Follow{}}})
	}
	if err != nil {
		return c.failed(conn, err)
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel(nil)
	tasks.Go(func() { f.report(ctx) })
	tasks.Go(func() { f.ping(ctx) })
	tasks.Go(func() { cancel(c.renew(ctx, f)) })
	tasks.Go(func() { f.show(ctx) })
	tasks.Go(func() {
		select {
		case <-c.anew:
			cancel(errAnew)
		case <-ctx.Done():
		}
	})
	answered, err := f.listen(ctx, updates)
	cause := context.Cause(ctx)
	if errors.Is(cause, errRenewed) {
		c.unanswered = 0
		return cause // the manager accepted the certificate, whether or not an update came before
	}
	if errors.Is(cause, errAnew) {
		return cause
	}
	if moved := (*MovedError)(nil); errors.As(cause, &moved) {
		return moved
	}
	if !answered {
		return c.failed(conn, err)
	}
	return fmt.Errorf("follow the roster: %w", err)
}

// listen handles what the manager sends until the subscription ends. answered reports whether the
// manager sent anything at all: a manager that accepts our certificate always starts with its CA
// bundle.
func (f *follower) listen(ctx context.Context, updates chan<- Update) (answered bool, err error) {
	c := f.client
	for {
		message, err := f.receive(pingInterval + pingTimeout)
		if err != nil {
			return answered, movedError(err)
		}
		if !answered {
			answered, c.unanswered = true, 0
			c.stands.Store(&standing{admitted: true})
			c.reconnect.follows(time.Now())
			c.Logger.Info("following the manager", "manager", c.Address)
		}
		switch m := message.GetMessage().(type) {
		case *rosterpb.ToAgent_Joined:
			offer(f.joined, m.Joined)
		case *rosterpb.ToAgent_Shown:
			offer(f.shown, m.Shown)
		case *rosterpb.ToAgent_Update:
			err = f.update(ctx, m.Update, updates)
		}
		if err != nil {
			return answered, err
		}
	}
}

// offer puts something into a channel that has room for one, if it is empty.
func offer[T any](to chan<- T, what T) {
	select {
	case to <- what:
	default:
	}
}

// update handles an update.
func (f *follower) update(ctx context.Context, message *rosterpb.Update,
	updates chan<- Update) error {
	f.client.reconnect.told(message.GetReturnWithinMilliseconds())
	if message.GetShow() != nil {
		offer(f.asked, struct{}{}) // it will be shown
		return nil
	}
	if hold := message.GetHold(); hold != nil {
		f.client.holdUp(Hold{Reason: hold.GetReason(), Ready: hold.GetReady()})
		return nil
	}
	update, err := f.client.take(message)
	if err != nil || update == (Update{}) {
		return err
	}
	select {
	case updates <- update:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// holdUp takes why no further process can join the group, or become a voter, now.
func (c *Client) holdUp(h Hold) {
	c.stands.Store(&standing{admitted: true, hold: h})
	if h.Reason != "" {
		c.Logger.Warn("no further process can join the group, or become a voter, now",
			"reason", h.Reason)
	}
}

// ask sends a request and waits for its answer. There is one request of its kind at a time.
func ask[T any](ctx context.Context, f *follower, request *rosterpb.ToManager, answers <-chan T) (T,
	error) {
	select {
	case <-answers: // to one that was given up
	default:
	}
	var none T
	if err := f.send(request); err != nil {
		return none, err
	}
	select {
	case answer := <-answers:
		return answer, nil
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (f *follower) join(ctx context.Context, r *rosterpb.JoinRequest) (*rosterpb.JoinResponse,
	error) {
	return ask(ctx, f, &rosterpb.ToManager{Message: &rosterpb.ToManager_Join{Join: r}}, f.joined)
}

// ping shows the manager that this agent is there, and has it show the same.
func (f *follower) ping(ctx context.Context) {
	for sleep(ctx, pingInterval) {
		if f.send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Ping{Ping: &rosterpb.Ping{}}}) != nil {
			return // listen returns the error
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

// An agent sends so many reports at once, and after that so many a second: half of what the manager
// reads of a pod at once, so that none waits on the way for older ones.
const (
	reportsAtOnce    = messagesAtOnce / 2
	reportsPerSecond = messagesPerSecond / 2
)

// report sends the newest report whenever it differs from the last one that was sent on this
// subscription. If that fails, listen returns the error.
func (f *follower) report(ctx context.Context) {
	var sent *Report
	tell := func(r *Report) {
		f.client.sent.Store(r)
		offer(f.client.told, struct{}{})
	}
	defer tell(nil)
	pace := rate.NewLimiter(reportsPerSecond, reportsAtOnce)
	for {
		newest := f.client.newest.Load()
		if newest != nil && (sent == nil || !reflect.DeepEqual(*sent, *newest)) {
			if pace.Wait(ctx) != nil {
				return
			}
			newest = f.client.newest.Load() // it may have changed meanwhile
			sent = newest
			report := &rosterpb.ToManager_Report{Report: reportToWire(*sent)}
			if f.send(&rosterpb.ToManager{Message: report}) != nil {
				return
			}
		}
		tell(newest)
		select {
		case <-f.client.wake:
		case <-ctx.Done():
			return
		}
	}
}
