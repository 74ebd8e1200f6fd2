package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/test/chaos/signals"
	"github.com/podesta-dev/podesta/test/register"
)

// cutNetwork makes a table with the rules, in one transaction, and takes it away after a while, or
// when ctx ends. The instants are when the cut was there, and when it still was. What was dropped
// is what the counters of the rules say.
func cutNetwork(
	ctx context.Context, table, rules string, length time.Duration,
) (done signals.Done, err error) {
	mending := context.WithoutCancel(ctx)
	_, err = nft(mending, fmt.Sprintf("add table inet %s; add chain inet %s pre { "+
		"type filter hook prerouting priority -310 ; }; %s",
		table, table, rules))
	if err != nil {
		return done, err
	}
	done.At = register.Now()
	signals.Wait(ctx, length)
	done.Til = register.Now()
	text, counted := nft(mending, "list table inet "+table)
	done.Dropped = dropped(text)
	_, err = nft(mending, "delete table inet "+table)
	return done, errors.Join(counted, err)
}

var packets = regexp.MustCompile(`counter packets (\d+)`)

// dropped is how many packets the counters of a table have counted.
func dropped(table string) (sum int) {
	for _, counter := range packets.FindAllStringSubmatch(table, -1) {
		n, _ := strconv.Atoi(counter[1]) // the pattern has digits alone
		sum += n
	}
	return sum
}

func nft(ctx context.Context, rules string) (string, error) {
	//nolint:gosec // the chaos run says which
	said, err := exec.CommandContext(ctx, "nft", rules).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("nft: %w: %s", err, strings.TrimSpace(string(said)))
	}
	return string(said), nil
}
