package roster

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// So many messages of a pod are read at once, and after that so many a second, on however many
// connections it sends them. A Follow counts as more: it is answered with a bundle and a roster.
const (
	messagesAtOnce    = 100
	messagesPerSecond = 20
	followCounts      = 5
)

// paces keep pods to that. They remember a pod until it may send as much as one that is new.
type paces struct {
	mu sync.Mutex
	of map[string]*pace // by UID
}

// pace is that of one pod.
type pace struct {
	*rate.Limiter
	connections int
	forgotten   *time.Timer // when it has none
}

func newPace() *pace { return &pace{Limiter: rate.NewLimiter(messagesPerSecond, messagesAtOnce)} }

// begin returns the pace of a pod that has made a connection. Its end must be told.
func (p *paces) begin(uid string) *pace {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.of[uid]
	if of == nil {
		of = newPace()
		p.of[uid] = of
	}
	if of.connections++; of.forgotten != nil {
		of.forgotten.Stop()
	}
	return of
}

// end: a connection has ended.
func (p *paces) end(uid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.of[uid]
	if of.connections--; of.connections == 0 {
		const full = messagesAtOnce * time.Second / messagesPerSecond
		of.forgotten = time.AfterFunc(full, func() { p.forget(uid) })
	}
}

func (p *paces) forget(uid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.of[uid]; of != nil && of.connections == 0 {
		delete(p.of, uid)
	}
}
