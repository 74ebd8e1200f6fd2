package main

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	servers *servers

	proxied bool // members reach each other and the servers over ways that can be cut
	ways    []way
	failed  error // of the first way that could not be made
}

// way is one from a member to another, or to a server.
type way struct {
	*proxy.Proxy

	from, to string
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// address is a member's. Two runs of this program are not at the same ones.
func (s *site) address(name string, port int) string {
	return fmt.Sprintf("127.%d.%d.%d:%d", 111+s.index, os.Getpid()%250, 1+slices.Index(s.names, name),
		port)
}

// way is the address at which a member reaches another one: its own, or that of a way.
func (s *site) way(ctx context.Context, from, to, address string) string {
	if !s.proxied || from == to {
		return address
	}
	p, err := proxy.Listen(ctx, address)
	if err != nil {
		s.failed = errors.Join(s.failed, err)
		return address
	}
	s.ways = append(s.ways, way{p, from, to})
	return p.Address()
}

// waysOf are those that a cut of a member cuts.
func (s *site) waysOf(member string) (some []way) {
	for _, w := range s.ways {
		if w.from == member || w.to == member {
			some = append(some, w)
		}
	}
	return some
}
