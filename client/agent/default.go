package agent

import "context"

// Run is Client.Run with the agent of this pod (see Client.URL).
func Run(ctx context.Context, work func(ctx context.Context, epoch Epoch) error) error {
	return new(Client).Run(ctx, work)
}

// MayAct is Client.MayAct with the agent of this pod (see Client.URL).
func MayAct(ctx context.Context) (Permission, error) { return new(Client).MayAct(ctx) }

// Coordinator is Client.Coordinator with the agent of this pod (see Client.URL).
func Coordinator(ctx context.Context) (View, error) { return new(Client).Coordinator(ctx) }

// Watch is Client.Watch with the agent of this pod (see Client.URL).
func Watch(ctx context.Context, fn func(View)) error { return new(Client).Watch(ctx, fn) }
