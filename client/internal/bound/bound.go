// Package bound binds the epoch under which a piece of work began to the work's context. Package
// agent puts it there, and package fence sends it along.
package bound

import "context"

type key struct{}

// With returns a context with an epoch.
func With(ctx context.Context, epoch int64) context.Context {
	return context.WithValue(ctx, key{}, epoch)
}

// Epoch returns the epoch of a context, and reports whether it has one.
func Epoch(ctx context.Context) (int64, bool) {
	epoch, ok := ctx.Value(key{}).(int64)
	return epoch, ok
}
