package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/test/chaos/signals"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// cutNetwork makes a table with the rules, in one transaction, and takes it away after a while, or
// when ctx ends. The instants are when the cut was there, and when it still was.
func cutNetwork(
	ctx context.Context, table, rules string, length time.Duration,
) (s history.Signal, err error) {
	err = nft(context.WithoutCancel(ctx), fmt.Sprintf("add table inet %s; add chain inet %s pre { "+
		"type filter hook prerouting priority -310 ; }; %s",
		table, table, rules))
	if err != nil {
		return s, err
	}
	s.At = register.Now()
	signals.Wait(ctx, length)
	s.Til = register.Now()
	return s, nft(context.WithoutCancel(ctx), "delete table inet "+table)
}

func nft(ctx context.Context, rules string) error {
	//nolint:gosec // the chaos run says which
	said, err := exec.CommandContext(ctx, "nft", rules).CombinedOutput()
	if err != nil {
		return fmt.Errorf("nft: %w: %s", err, strings.TrimSpace(string(said)))
	}
	return nil
}
