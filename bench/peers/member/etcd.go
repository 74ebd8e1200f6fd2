package member

import (
	"context"
	"fmt"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

// etcd is a candidate of etcd's concurrency.Election.
func etcd(ctx context.Context, args []string, say *said.Speaker) error {
	var id string
	f := flags("etcd", &id)
	endpoint := f.String("endpoint", "", "the etcd server's address")
	ttl := f.Int("ttl", 60, "the session's TTL in seconds")
	prefix := f.String("prefix", "", "of the election's keys")
	if err := f.Parse(args); err != nil {
		return err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{*endpoint},
		DialTimeout: 5 * time.Second,
	})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for ctx.Err() == nil {
		if err := candidate(ctx, client, *prefix, id, *ttl, say); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "etcd:", err)
			pause(ctx, 100*time.Millisecond)
		}
	}
	return nil
}

// candidate campaigns within one session, and leads until that is lost or the member is to end;
// then it resigns.
func candidate(
	ctx context.Context, client *clientv3.Client, prefix, id string, ttl int, say *said.Speaker,
) error {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-session.Done():
			say.Ceases(register.Now())
			end()
		case <-ctx.Done():
		}
	}()
	election := concurrency.NewElection(session, prefix)
	go func() {
		for r := range election.Observe(ctx) {
			say.Names(string(r.Kvs[0].Value))
		}
	}()
	if err := election.Campaign(ctx, id); err != nil {
		return err
	}
	say.Leads(register.Now())
	<-ctx.Done()
	say.Ceases(register.Now())
	resigning, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return election.Resign(resigning)
}
