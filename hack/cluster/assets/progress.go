package assets

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// On a terminal the last line is rewritten every second; elsewhere a line is printed less often.
const (
	everyOnTerminal = time.Second
	everyElsewhere  = 5 * time.Second
)

// progress tells a person what goes on and how far it is, with the seconds since the start.
type progress struct {
	start    time.Time
	every    time.Duration
	terminal bool

	mu  sync.Mutex
	log io.Writer
}

func newProgress(log io.Writer) *progress {
	p := &progress{
		start: time.Now(),
		every: everyElsewhere,
		log:   log,
	}
	if file, ok := log.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.terminal, p.every = true, everyOnTerminal
		}
	}
	return p
}

func (p *progress) say(format string, args ...any) { p.line("\n", format, args...) }

func (p *progress) line(end, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	if p.terminal {
		text += "\x1b[K" // the line before may have been longer
	}
	_, _ = fmt.Fprintf(p.log, "%4.0f s  %s%s", time.Since(p.start).Seconds(), text, end)
}

// step does work and prints its name, then how much is done every now and then and at the end.
func (p *progress) step(name string, u unit, work func(*tally) error) error {
	p.say("%s", name)
	done := &tally{}
	ended := make(chan error, 1)
	go func() { ended <- work(done) }()
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	between := "\n"
	if p.terminal {
		between = "\r"
	}
	for {
		select {
		case err := <-ended:
			p.line("\n", "  %s", done.in(u))
			return err
		case <-ticker.C:
			p.line(between, "  %s", done.in(u))
		}
	}
}

// unit is what a step counts, and how many of them make one that is printed.
type unit struct {
	name string
	size int64
}

var (
	megabytes = unit{name: "MB", size: 1e6}
	modules   = unit{name: "modules", size: 1}
	packages  = unit{name: "packages and programs", size: 1}
)

// tally is how much of a step is done. A total of 0 is not known yet.
type tally struct{ done, total atomic.Int64 }

// in returns the tally in words, such as "812 of 1498 modules (54 %)".
func (t *tally) in(u unit) string {
	done, total := t.done.Load(), t.total.Load()
	var text strings.Builder
	fmt.Fprintf(&text, "%d", done/u.size)
	if total > 0 {
		fmt.Fprintf(&text, " of %d %s (%d %%)", total/u.size, u.name, 100*done/total)
	} else {
		fmt.Fprintf(&text, " %s", u.name)
	}
	return text.String()
}

// Write counts bytes that pass.
func (t *tally) Write(b []byte) (int, error) {
	t.done.Add(int64(len(b)))
	return len(b), nil
}

// download counts a line in which Go says that it downloads a module.
func (t *tally) download(line string) {
	if strings.HasPrefix(line, "go: downloading ") {
		t.done.Add(1)
	}
}
