package roster

import (
	"context"
	"errors"
	"time"
)

// renewWithin is the shortest time from one renewal to the next one. By a clock that is half a day
// ahead of the manager's, each new certificate is to be renewed at once.
const renewWithin = 10 * time.Minute

// renewIn returns how long to wait until the next renewal.
func renewIn(now, at, renewed time.Time) time.Duration {
	return max(at.Sub(now), renewed.Add(renewWithin).Sub(now))
}

// renew waits until half of the certificate's lifetime has passed, and gets the next one over the
// subscription's connection. It returns errRenewed then, a *MovedError if the pod has another
// group, or nil when ctx ends. If a renewal fails otherwise, the subscription continues, and renew
// retries after a tenth of the remaining time, but at least a minute.
func (c *Client) renew(ctx context.Context, at joiner) error {
	wait := renewIn(time.Now(), c.Keyring.RenewAt(), c.renewed)
	for sleep(ctx, wait) {
		err := c.join(ctx, at, "")
		if err == nil {
			return errRenewed
		}
		if moved := (*MovedError)(nil); errors.As(err, &moved) {
			return moved
		}
		wait = max(time.Until(c.Keyring.NotAfter())/10, time.Minute)
		if ctx.Err() == nil {
			c.Logger.Warn("certificate not renewed", "error", err, "validUntil",
				c.Keyring.NotAfter(), "retryIn", wait)
		}
	}
	return nil
}
