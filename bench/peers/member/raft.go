package member

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

// raftMember is a member of hashicorp/raft over TCP with its log on the disk. Nobody proposes
// anything: like the other systems, it elects and no more.
func raftMember(ctx context.Context, args []string, say *said.Speaker) error {
	var id string
	f := flags("raft", &id)
	dir := f.String("dir", "", "where its log is")
	listen := f.String("listen", "", "its address")
	members := f.StringToString("members", nil, "NAME=ADDRESS of each member, as all know them")
	ways := f.StringToString("ways", nil, "NAME=ADDRESS at which this member reaches each")
	timeout := f.Duration("timeout", 0, "HeartbeatTimeout, ElectionTimeout and LeaderLeaseTimeout; "+
		"0: the defaults")
	if err := f.Parse(args); err != nil {
		return err
	}
	config := raftConfig(id, *timeout)
	// as in raft's examples
	network := &raft.NetworkTransportConfig{
		Logger:                config.Logger,
		MaxPool:               3,
		Timeout:               10 * time.Second,
		ServerAddressProvider: book(*ways),
	}
	transport, err := raft.NewTCPTransportWithConfig(*listen, nil, network)
	if err != nil {
		return err
	}
	store, snapshots, err := stores(*dir, config.Logger)
	if err != nil {
		return err
	}
	if err := raft.BootstrapCluster(config, store, store, snapshots, transport,
		servers(*members)); err != nil && !errors.Is(err, raft.ErrCantBootstrap) { // it has begun before
		return err
	}
	leads := make(chan bool, 100) // raft waits for a reader that is late
	config.NotifyCh = leads
	go func() {
		for l := range leads {
			if l {
				say.Leads(register.Now())
			} else {
				say.Ceases(register.Now())
			}
		}
	}()
	r, err := raft.NewRaft(config, nothing{}, store, store, snapshots, transport)
	if err != nil {
		return err
	}
	return take(ctx, r, say)
}

// stores are what raft keeps on the disk.
func stores(
	dir string, logger hclog.Logger,
) (*raftboltdb.BoltStore, *raft.FileSnapshotStore, error) {
	store, err := raftboltdb.NewBoltStore(filepath.Join(dir, "raft.db"))
	if err != nil {
		return nil, nil, err
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, 1, logger)
	return store, snapshots, err
}

// raftConfig are the defaults, or one timeout for all three. A LeaderLeaseTimeout of as much as the
// HeartbeatTimeout is the most that raft allows, and the most patient with a leader that is slow.
func raftConfig(id string, timeout time.Duration) *raft.Config {
	config := raft.DefaultConfig()
	config.LocalID = raft.ServerID(id)
	config.Logger = hclog.New(&hclog.LoggerOptions{
		Name:   id,
		Level:  hclog.Info,
		Output: os.Stderr,
	})
	if timeout > 0 {
		config.HeartbeatTimeout, config.ElectionTimeout = timeout, timeout
		config.LeaderLeaseTimeout = timeout
	}
	return config
}

// take says what raft observes, until the member is to end; then it hands over.
func take(ctx context.Context, r *raft.Raft, say *said.Speaker) error {
	seen := make(chan raft.Observation, 1000)
	r.RegisterObserver(raft.NewObserver(seen, true, func(o *raft.Observation) bool {
		_, ok := o.Data.(raft.LeaderObservation)
		return ok
	}))
	_, leader := r.LeaderWithID()
	say.Names(string(leader))
	for {
		select {
		case o := <-seen:
			if l, ok := o.Data.(raft.LeaderObservation); ok {
				say.Names(string(l.LeaderID))
			}
		case <-ctx.Done():
			if r.State() == raft.Leader {
				_ = r.LeadershipTransfer().Error() // the others find out
			}
			return r.Shutdown().Error()
		}
	}
}

func servers(known map[string]string) raft.Configuration {
	var c raft.Configuration
	for _, name := range slices.Sorted(maps.Keys(known)) { // all members must have the same one
		c.Servers = append(c.Servers,
			raft.Server{ID: raft.ServerID(name), Address: raft.ServerAddress(known[name])})
	}
	return c
}

// book has the addresses at which a member reaches the others, by their names.
type book map[string]string

// ServerAddr is for raft, which uses the address that all know if this is an error.
func (b book) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	if a, ok := b[string(id)]; ok {
		return raft.ServerAddress(a), nil
	}
	return "", fmt.Errorf("%s has no address of its own", id)
}

// nothing is what is replicated.
type nothing struct{}

func (nothing) Apply(*raft.Log) any                 { return nil }
func (nothing) Snapshot() (raft.FSMSnapshot, error) { return nothing{}, nil }
func (nothing) Restore(r io.ReadCloser) error       { return r.Close() }
func (nothing) Persist(s raft.SnapshotSink) error   { return s.Close() }
func (nothing) Release()                            {}
