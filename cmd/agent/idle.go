package main

import (
	"context"
	"errors"
)

// idle implements `agent idle`: it does nothing until it is told to end. A pod needs a container
// beside the agent's sidecar, and in the pod of a witness this is it.
func idle(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return errors.New("usage: agent idle")
	}
	<-ctx.Done()
	return nil
}
