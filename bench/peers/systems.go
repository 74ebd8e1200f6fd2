package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/timing"
)

// system is something that elects leaders.
type system struct {
	name    string
	meaning string // what a reader needs to know
	podesta bool   // it runs an agent
	agent   string // its path
	needs   string // a server beside the members: apiServer, etcdServer
	// plan prepares what the members need, and returns the arguments of `peers member` for each.
	plan func(ctx context.Context, s *site, agent string) (map[string][]string, error)
}

// podestaClassic is a Classic group.
func podestaClassic() system {
	profile, _ := timing.Of(timing.Default)
	times, _ := profile.With(timing.Timing{}, false)
	y := podesta("podesta-classic", times, roster.Roster{Safety: roster.Classic})
	y.meaning = "a Classic group, Bully: a member that comes back takes the lead again, if it had it"
	return y
}

// podestaGuarded is a Guarded group with that profile.
func podestaGuarded(profile timing.Profile) system {
	y := podesta("podesta-"+strings.ToLower(profile.Name), profile.Timing, roster.Roster{
		Safety:     roster.Guarded,
		Preemption: roster.Never, // the next fault strikes whoever leads then
	})
	y.meaning = fmt.Sprintf("a Guarded group, Bully, with profile %s, a lease of %v to %v; "+
		"preemption is Never (default: Delayed), so that a leader changes by faults alone",
		profile.Name, profile.LeaseMinimum, profile.Lease)
	return y
}

// podesta is a group of Bully, with this timing and what else the roster says.
func podesta(name string, t timing.Timing, r roster.Roster) system {
	r.Namespace, r.Group, r.Generation, r.Algorithm = "bench", "peers", 1, "Bully"
	r.Heartbeat, r.Timeout, r.Lease, r.LeaseMinimum = t.Heartbeat, t.Timeout, t.Lease, t.LeaseMinimum
	return system{name: name, podesta: true, plan: func(
		ctx context.Context, s *site, agent string,
	) (map[string][]string, error) {
		r := r // each plan has processes of its own
		for i, name := range s.names {
			//nolint:gosec // the user names it
			id, err := exec.CommandContext(ctx, agent, "init", "--state-dir", s.path(name)).Output()
			if err != nil {
				return nil, fmt.Errorf("%s init: %w", agent, err)
			}
			r.Processes = append(r.Processes, roster.Process{
				Name:     name,
				UID:      name,
				StateID:  strings.TrimSpace(string(id)),
				Address:  s.address(name, linkPort),
				Priority: int32(i + 1),
				Voter:    true,
			})
		}
		members := map[string][]string{}
		for _, name := range s.names {
			if err := os.WriteFile(s.path(name+".json"), seenBy(ctx, s, name, r).Encode(),
				0o600); err != nil {
				return nil, err
			}
			members[name] = []string{"podesta", "--id", name, "--app-api",
				"http://" + s.address(name, appPort),
				fmt.Sprintf("--guarded=%v", r.Safety == roster.Guarded), "--",
				agent, "--roster", s.path(name + ".json"), "--certificate", s.path(name + ".crt"), "--key",
				s.path(name + ".key"),
				"--trust-file", s.path("ca.crt"), "--state-dir", s.path(name), "--listen",
				s.address(name, linkPort),
				"--app-address", s.address(name, appPort), "--status-address", s.address(name, statusPort)}
		}
		//nolint:gosec // the user names it
		keys := exec.CommandContext(ctx, agent, "keys", "--roster", s.path(s.names[0]+".json"), "--out",
			s.dir)
		if out, err := keys.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s keys: %w\n%s", agent, err, out)
		}
		return members, nil
	}}
}

// seenBy is the roster with the addresses at which one member reaches the others.
func seenBy(ctx context.Context, s *site, member string, r roster.Roster) roster.Roster {
	processes := make([]roster.Process, len(r.Processes))
	for i, p := range r.Processes {
		if p.Name != member {
			p.Address = s.way(ctx, member, p.Name, p.Address)
		}
		processes[i] = p
	}
	r.Processes = processes
	return r
}

// raftWith is hashicorp/raft with this timeout; 0: with its defaults.
func raftWith(timeout time.Duration) system {
	name, meaning := "raft", "hashicorp/raft with its defaults: HeartbeatTimeout and "+
		"ElectionTimeout 1 s, LeaderLeaseTimeout 0.5 s"
	if timeout > 0 {
		name = "raft-" + timeout.String()
		meaning = fmt.Sprintf("hashicorp/raft with all three at %v", timeout)
	}
	return system{
		name:    name,
		meaning: meaning,
		plan: func(ctx context.Context, s *site, _ string) (map[string][]string, error) {
			var known []string
			for _, name := range s.names {
				known = append(known, name+"="+s.address(name, linkPort))
			}
			members := map[string][]string{}
			for _, name := range s.names {
				if err := os.Mkdir(s.path(name), 0o700); err != nil {
					return nil, err
				}
				var ways []string
				for _, other := range s.names {
					ways = append(ways, other+"="+s.way(ctx, name, other, s.address(other, linkPort)))
				}
				members[name] = []string{"raft", "--id", name, "--dir", s.path(name), "--listen",
					s.address(name, linkPort), "--members", strings.Join(known, ","), "--ways",
					strings.Join(ways, ","), "--timeout", timeout.String()}
			}
			return members, nil
		},
	}
}

// clientGo is client-go's leader election on a Lease, with these durations. Its leader gives the
// Lease back when it ends, or does not, as by default.
func clientGo(lease, renew, retry time.Duration, release bool) system {
	name := "client-go"
	meaning := fmt.Sprintf("client-go's Lease: LeaseDuration %v, RenewDeadline %v, RetryPeriod %v; "+
		"ReleaseOnCancel is ", lease, renew, retry)
	if release {
		name += "-" + lease.String()
		meaning += "on, for SIGTERM"
	} else {
		meaning += "off: its defaults"
	}
	return system{
		name:    name,
		meaning: meaning,
		needs:   apiServer,
		plan: func(ctx context.Context, s *site, _ string) (map[string][]string, error) {
			members := map[string][]string{}
			for _, name := range s.names {
				members[name] = []string{"client-go", "--id", name, "--kubeconfig", s.servers.kubeconfig,
					"--server", "https://" + s.way(ctx, name, apiServer, s.servers.api), "--lease",
					filepath.Base(s.dir),
					"--lease-duration", lease.String(), "--renew-deadline", renew.String(), "--retry-period",
					retry.String(), fmt.Sprintf("--release=%v", release)}
			}
			return members, nil
		},
	}
}

// known are all systems: client-go with its defaults, with its default durations and a leader that
// gives the Lease back, and as fast as it can be.
func known() []system {
	systems := []system{podestaClassic()}
	for _, profile := range timing.Profiles() {
		systems = append(systems, podestaGuarded(profile))
	}
	return append(systems,
		raftWith(0),
		raftWith(200*time.Millisecond),
		clientGo(15*time.Second, 10*time.Second, 2*time.Second, false),
		clientGo(15*time.Second, 10*time.Second, 2*time.Second, true),
		clientGo(time.Second, 500*time.Millisecond, 200*time.Millisecond, true),
		etcdWith(2*time.Second),
	)
}

// etcdWith is etcd's concurrency.Election with this TTL.
func etcdWith(ttl time.Duration) system {
	return system{
		name:    "etcd-" + ttl.String(),
		meaning: fmt.Sprintf("etcd's concurrency.Election with a TTL of %v, one server", ttl),
		needs:   etcdServer,
		plan: func(ctx context.Context, s *site, _ string) (map[string][]string, error) {
			members := map[string][]string{}
			for _, name := range s.names {
				members[name] = []string{"etcd", "--id", name, "--ttl", fmt.Sprint(int(ttl.Seconds())),
					"--prefix", "/" + filepath.Base(s.dir), "--endpoint",
					s.way(ctx, name, etcdServer, s.servers.etcd)}
			}
			return members, nil
		},
	}
}
