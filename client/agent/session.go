package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/podesta-dev/podesta/client/internal/boottime"
)

// Session opens a session and calls fn, on the caller's goroutine, with each permission that the
// agent sends: the current one at once, then every change, and a fresh permission before the
// deadline of the last one passes. fn must return soon: while it runs, no newer permission is
// received, and the one it has runs out.
//
// Opening a session ties this process's candidacy to it. Do not open one to look; use Coordinator
// or Watch instead. Until the session is closed, or the last deadline that the agent sent has
// passed, no other process may act. Closing the session gives the permission up at once, so end the
// work first and cancel ctx then.
//
// However the session ends, fn is called once more with the zero Permission if it was called
// before, the permissions of this session are no longer Valid, and the error says why the session
// ended. If this program reads nothing for long, Session tells the agent, which then asks for
// longer permissions, within the group's bounds. A program that reads nothing for longer than the
// longest lease, and than 2 s, loses the session: it does not answer what the agent asks over it.
// The answers show that this program runs and that fn returns, and no more than that. KeepSession
// opens a new session after one has ended. Run does all of this for work that ends with its
// context.
func (c *Client) Session(ctx context.Context, fn func(Permission)) error {
	return c.session(ctx, fn, func(error) {})
}

// session is Session. If a permission was told, ending is called with the reason when the session
// has ended, or before this end closes it.
func (c *Client) session(ctx context.Context, fn func(Permission), ending func(why error)) error {
	var gaps pauses
	defer gaps.reporter.Wait()
	session, end := context.WithCancel(ctx)
	defer end()
	opened, err := boottime.Now()
	if err != nil {
		return noClock(err)
	}
	body, err := c.stream(session, "/v1/session", "Podesta-Session", "acknowledged")
	if err != nil {
		return err
	}
	defer body.Close()
	gaps.tell(session, c)
	told := false
	ended, err := readEvents(body, func(e event) error {
		switch e.name {
		case "acknowledge": // after all that came before it was handled
			return gaps.acknowledge(e.data)
		case "permission":
		default:
			return nil
		}
		p, err := c.told(session, e, opened)
		if err != nil {
			return err
		}
		told, p.session = true, session
		gaps.read(p)
		fn(p)
		return nil
	})
	// the agent knows that the session has ended, so its permissions end before fn stops the work
	if ended {
		end()
	}
	why := ctx.Err()
	if why == nil {
		why = fmt.Errorf("the agent's session ended: %w", err)
	}
	if told { // if the session is still open, the work can be stopped before it is closed
		ending(why)
		fn(Permission{})
	}
	end() // before the body is closed: from then on others may act
	return why
}

// told returns the permission of an event. Without a shared clock an event only shows that
// something has changed, because the time that it was under way is unknown; then told asks the
// agent, and counts the deadline from before the question.
func (c *Client) told(ctx context.Context, e event, opened time.Duration) (Permission, error) {
	if !boottime.Shared {
		p, err := permission(e.data, span{from: opened, to: opened})
		if err != nil || !p.Granted { // what is revoked stays so, whatever the agent has granted since
			return p, err
		}
		return c.MayAct(ctx)
	}
	received, err := boottime.Now()
	if err != nil {
		return Permission{}, noClock(err)
	}
	return permission(e.data, span{from: opened, to: received})
}
