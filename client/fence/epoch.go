package fence

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	Epoch int64 // that the caller sent
	Seen  int64 // the highest that the resource has seen; 0 if it did not say
}

func (e *StaleError) Error() string {
	seen := "a higher one was seen"
	if e.Seen != 0 {
		seen = fmt.Sprintf("%d was seen", e.Seen)
	}
	return fmt.Sprintf("epoch %d is stale: %s; stop acting, another process coordinates",
		e.Epoch, seen)
}

// Is reports whether target is ErrStale.
func (*StaleError) Is(target error) bool { return target == ErrStale }

// valid returns nil for an epoch, and otherwise why it cannot be one.
func valid(epoch int64) error {
	if epoch < 1 || epoch > MaxEpoch {
		return fmt.Errorf("%d is %w", epoch, ErrNoEpoch)
	}
	return nil
}

func parse(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is %w", text, ErrNoEpoch)
	}
	return int64(n), nil
}

type epochKey struct{}

// WithEpoch binds an epoch to a piece of work when the work begins. Transport sends it along;
// Handler sets it for the requests that it serves.
func WithEpoch(ctx context.Context, epoch int64) context.Context {
	return context.WithValue(ctx, epochKey{}, epoch)
}

// EpochOf returns the epoch under which the work began, and reports whether there is one.
func EpochOf(ctx context.Context) (int64, bool) {
	epoch, ok := ctx.Value(epochKey{}).(int64)
	return epoch, ok
}
