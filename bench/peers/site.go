package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/podesta-dev/podesta/bench/peers/network"
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

	network *network.Network // nil: members are linked without one
	weather proxy.Weather
	ways    []way
	failed  error // of the first way that could not be made
}

// between has this program become the network between members.
const between = "network"

// beginNetwork begins one, or returns nil if none is needed.
func beginNetwork(needed bool) (*network.Network, error) {
	if !needed {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return network.Begin([]string{self, between})
}

// way is one from a member to another, or to a server.
type way struct {
	network.Way

	from, to string
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// address is a member's.
func (s *site) address(name string, port int) string {
	return fmt.Sprintf("127.%d.0.%d:%d", 111+s.index, 1+slices.Index(s.names, name), port)
}

// way is the address at which a member reaches another one: its own, or that of a way.
func (s *site) way(from, to, address string) string {
	if s.network == nil || from == to {
		return address
	}
	w, err := s.network.Way(address, s.weather)
	if err != nil {
		s.failed = errors.Join(s.failed, err)
		return address
	}
	s.ways = append(s.ways, way{w, from, to})
	return w.Address
}

// cut cuts a member off from all others, and from servers. It needs a network.
func (s *site) cut(member string) error {
	return s.network.Cut(s.waysOf(member))
}

// mend ends the cut of a member.
func (s *site) mend(member string) error {
	return s.network.Mend(s.waysOf(member))
}

func (s *site) waysOf(member string) (some []network.Way) {
	for _, w := range s.ways {
		if w.from == member || w.to == member {
			some = append(some, w.Way)
		}
	}
	return some
}
