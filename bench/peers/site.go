package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/podesta-dev/podesta/bench/peers/proxy"
)

// The ports of a member, on a loopback address of its own.
const (
	appPort    = 4040
	linkPort   = 4041
	statusPort = 4042
)

// site is where the members of a team live: their folder, their addresses, and the ways between
// them.
type site struct {
	dir     string
	index   int // of the team: each has a network of its own
	names   []string
	agent   string
	servers *servers

	weather *proxy.Weather // nil: without proxies
	ways    []way
	failed  error // of the first way that could not be made
}

// way is a proxy from one member to another, or to a server.
type way struct {
	from, to string
	proxy    *proxy.Proxy
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// address is a member's.
func (s *site) address(name string, port int) string {
	return fmt.Sprintf("127.%d.0.%d:%d", 111+s.index, 1+slices.Index(s.names, name), port)
}

// way is the address at which a member reaches another one: its own, or that of a proxy.
func (s *site) way(ctx context.Context, from, to, address string) string {
	if s.weather == nil || from == to {
		return address
	}
	p, err := proxy.Listen(ctx, "127.0.0.1:0", address, *s.weather)
	if err != nil {
		if s.failed == nil {
			s.failed = err
		}
		return address
	}
	s.ways = append(s.ways, way{from, to, p})
	return p.Address()
}

// cut cuts a member off from all others, and from servers. It needs proxies.
func (s *site) cut(member string) {
	for _, w := range s.ways {
		if w.from == member || w.to == member {
			w.proxy.Cut()
		}
	}
}

// mend ends all cuts.
func (s *site) mend() {
	for _, w := range s.ways {
		w.proxy.Mend()
	}
}

func (s *site) close() {
	for _, w := range s.ways {
		w.proxy.Close()
	}
}
