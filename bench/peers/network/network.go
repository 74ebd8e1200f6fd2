// Package network has the ways between members in a process of its own, whose threads go before all
// usual ones: a network does not wait for busy loops, nor for what its user does beside it.
package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/podesta-dev/podesta/bench/peers/lateness"
	"github.com/podesta-dev/podesta/bench/peers/proxy"
	"github.com/podesta-dev/podesta/test/register"
)

// Network is that process, as its user sees it. It is safe for concurrent use. A nil Network has no
// ways, and nothing is late there.
type Network struct {
	process *exec.Cmd

	mu       sync.Mutex // a request and its answer
	requests *json.Encoder
	answers  *json.Decoder
	stop     io.Closer // of requests
}

// Way is one from an address to a target.
type Way struct {
	Address string
	id      int
}

// request is what the process is told: one of these.
type request struct {
	Listen  string               `json:"listen,omitempty"` // make a way to this target
	Weather proxy.Weather        `json:"weather"`
	Cut     []int                `json:"cut,omitempty"`
	Mend    []int                `json:"mend,omitempty"`
	Late    *[2]register.Instant `json:"late,omitempty"` // tell of this span
}

// answer is what it says to each, and first of all.
type answer struct {
	Address string          `json:"address,omitempty"`
	ID      int             `json:"id,omitempty"`
	Late    []lateness.Late `json:"late,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// Begin starts the process: this command, which calls Main. It must be ended. If it may not go
// before others, it says so on the standard error.
func Begin(command []string) (*Network, error) {
	c := exec.Command(command[0], command[1:]...)       //nolint:gosec,noctx // it is this program
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for its user
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	n := &Network{
		process:  c,
		requests: json.NewEncoder(in),
		answers:  json.NewDecoder(out),
		stop:     in,
	}
	if _, err := n.hear(); err != nil {
		n.End()
		return nil, fmt.Errorf("the network between members: %w", err)
	}
	return n, nil
}

// Way makes a way to a target.
func (n *Network) Way(target string, w proxy.Weather) (Way, error) {
	a, err := n.ask(request{Listen: target, Weather: w})
	return Way{a.Address, a.ID}, err
}

// Cut cuts ways, until Mend.
func (n *Network) Cut(ways []Way) error {
	_, err := n.ask(request{Cut: ids(ways)})
	return err
}

// Mend ends the cuts of ways.
func (n *Network) Mend(ways []Way) error {
	_, err := n.ask(request{Mend: ids(ways)})
	return err
}

// Late returns when messages were late on ways that nobody cut, within a span.
func (n *Network) Late(from, to register.Instant) ([]lateness.Late, error) {
	if n == nil {
		return nil, nil
	}
	a, err := n.ask(request{Late: &[2]register.Instant{from, to}})
	return a.Late, err
}

func ids(ways []Way) (all []int) {
	for _, w := range ways {
		all = append(all, w.id)
	}
	return all
}

func (n *Network) ask(r request) (answer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.requests.Encode(r); err != nil {
		return answer{}, fmt.Errorf("the network between members: %w", err)
	}
	return n.hear()
}

func (n *Network) hear() (a answer, err error) {
	if err := n.answers.Decode(&a); err != nil {
		return a, fmt.Errorf("the network between members does not answer: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// End ends all ways.
func (n *Network) End() {
	if n == nil {
		return
	}
	_ = n.stop.Close() // its process ends with that
	_ = n.process.Wait()
}
