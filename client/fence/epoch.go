package fence

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/internal/bound"
)

// MaxEpoch is the highest epoch. Epochs stay below 2⁵³, so that every JSON reader keeps them whole.
const MaxEpoch = 1<<53 - 1

// ErrStale matches every *StaleError: errors.Is(err, ErrStale).
var ErrStale = errors.New("stale epoch")

// ErrNoEpoch means that a number cannot be an epoch, or that an epoch is missing.
var ErrNoEpoch = errors.New(
	"no epoch: epochs are 1 to 2⁵³−1, and only Guarded groups have them (spec.safety)")

// StaleError refuses an epoch: the resource has seen a higher one, so the caller no longer
// coordinates. It must stop, and not try again under this epoch.
type StaleError struct {
	Epoch agent.Epoch // that the caller sent
	Seen  agent.Epoch // the highest that the resource has seen; 0 if it did not say
}

func (e *StaleError) Error() string {
	seen := "a higher one was seen"
	if e.Seen != 0 {
		seen = fmt.Sprintf("%v was seen", e.Seen)
	}
	return fmt.Sprintf("epoch %v is stale: %s; stop acting, another process coordinates",
		e.Epoch, seen)
}

// Is reports whether target is ErrStale.
func (*StaleError) Is(target error) bool { return target == ErrStale }

// valid returns nil for an epoch, and otherwise why it cannot be one.
func valid(epoch agent.Epoch) error {
	if epoch < 1 || epoch > MaxEpoch {
		return fmt.Errorf("%d is %w", epoch, ErrNoEpoch)
	}
	return nil
}

func parse(text string) (agent.Epoch, error) {
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is %w", text, ErrNoEpoch)
	}
	return agent.Epoch(n), nil
}

// WithEpoch binds an epoch to a piece of work when the work begins. Transport sends it along;
// Handler sets it for the requests that it serves, and agent.Run for its work.
func WithEpoch(ctx context.Context, epoch agent.Epoch) context.Context {
	return bound.With(ctx, int64(epoch))
}

// EpochOf returns the epoch under which the work began, and reports whether there is one.
func EpochOf(ctx context.Context) (agent.Epoch, bool) {
	epoch, ok := bound.Epoch(ctx)
	return agent.Epoch(epoch), ok
}
