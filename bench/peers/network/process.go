package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/podesta-dev/podesta/bench/peers/lateness"
	"github.com/podesta-dev/podesta/bench/peers/proxy"
)

// process has the ways.
type process struct {
	ctx   context.Context // of the ways
	ways  []*proxy.Proxy
	watch *lateness.Ways
}

// Main is the process: it does what is asked for on the standard input until that ends.
func Main(ctx context.Context) error {
	if err := goFirst(); err != nil {
		fmt.Fprintf(os.Stderr, "peers: messages between members wait for the CPU behind busy loops: "+
			"to let them go first needs root: %v\n", err)
	}
	watch, err := lateness.WatchWays(ctx)
	if err != nil {
		return err
	}
	defer watch.End()
	p := &process{ctx: ctx, watch: watch}
	defer p.close()
	requests, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for a := (answer{}); ; {
		if err := answers.Encode(a); err != nil {
			return err
		}
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		a = p.do(r)
	}
}

func (p *process) do(r request) (a answer) {
	for _, id := range r.Cut {
		p.ways[id].Cut()
	}
	for _, id := range r.Mend {
		p.ways[id].Mend()
	}
	if r.Late != nil {
		a.Late = p.watch.Within(r.Late[0], r.Late[1])
	}
	if r.Listen != "" {
		way, err := proxy.Listen(p.ctx, "127.0.0.1:0", r.Listen, r.Weather)
		if err != nil {
			return answer{Error: err.Error()}
		}
		a.Address, a.ID = way.Address(), len(p.ways)
		p.ways = append(p.ways, way)
	}
	return a
}

func (p *process) close() {
	for _, way := range p.ways {
		way.Close()
	}
}
