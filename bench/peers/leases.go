package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// leases are what agents tell of their leases, looked at now and then.
type leases struct {
	asked  []time.Duration    // by the leaseholder, at each look
	counts map[string]float64 // lapses, by member: at the last look
	lapses float64
}

// An agent that is asked for its metrics needs a CPU for a while. If all were asked at once, they
// would keep each other from it, and their leases would get longer. Prometheus does not ask all at
// once, either. So the agents of a team are asked one after the other, and no two teams together.
const (
	agentsApart = 300 * time.Millisecond
	teamsApart  = 100 * time.Millisecond
)

// look reads the metrics of a team's agents, after a while.
func (l *leases) look(ctx context.Context, t *team, after time.Duration) {
	shown := make([]map[string]float64, len(t.names))
	var looking sync.WaitGroup // one that is stopped must not keep the others from being seen
	for i, name := range t.names {
		looking.Go(func() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(after + time.Duration(i)*agentsApart):
			}
			asking, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			shown[i], _ = metrics(asking, "http://"+t.address(name, statusPort)+"/metrics")
		})
	}
	looking.Wait()
	for i, name := range t.names {
		m := shown[i]
		if m == nil {
			continue // it is dead, or too busy
		}
		if lease := m["podesta_agent_lease_seconds"]; lease > 0 {
			l.asked = append(l.asked, time.Duration(lease*float64(time.Second)))
		}
		now := m["podesta_agent_lease_lapses_total"]
		if before := l.counts[name]; now >= before {
			l.lapses += now - before
		} else { // it was started again
			l.lapses += now
		}
		l.counts[name] = now
	}
}

// metrics reads the series of an exposition that have no labels.
func metrics(ctx context.Context, url string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return series(response.Body)
}

func series(exposition io.Reader) (map[string]float64, error) {
	all := map[string]float64{}
	lines := bufio.NewScanner(exposition)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] = v
		}
	}
	return all, lines.Err()
}
