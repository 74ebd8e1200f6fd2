package message

import (
	"fmt"
	"strings"
)

// Peer is a process that messages are sent to.
type Peer struct {
	Name string
	URL  string
}

// ParsePeers parses a flag such as p1=10.0.0.1:8080,p2=10.0.0.2:8080.
func ParsePeers(text string) ([]Peer, error) {
	var peers []Peer
	for _, one := range strings.Split(text, ",") {
		name, address, ok := strings.Cut(one, "=")
		if !ok || name == "" || address == "" {
			return nil, fmt.Errorf("%q is not NAME=HOST:PORT", one)
		}
		peers = append(peers, Peer{Name: name, URL: "http://" + address})
	}
	return peers, nil
}
