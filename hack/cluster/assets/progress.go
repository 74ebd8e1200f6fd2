package assets

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// every is how long it takes at most until a step says again how far it is.
const every = 5 * time.Second

// progress tells a person what goes on and how far it is, with the seconds since the start.
type progress struct {
	start time.Time
	log   io.Writer
}

func (p progress) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	_, _ = fmt.Fprintf(p.log, "%4.0f s  %s\n", time.Since(p.start).Seconds(), text)
}

// step does work and prints its name, then how much is done every now and then and at the end.
func (p progress) step(name string, work func(*tally) error) error {
	p.say("%s", name)
	done := &tally{}
	ended := make(chan error, 1)
	go func() { ended <- work(done) }()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			p.say("  %s", done)
			return err
		case <-ticker.C:
			p.say("  %s", done)
		}
	}
}

// tally is how much of a step is done: by Go, or in bytes that were written to it.
type tally struct{ downloaded, compiled, fetched atomic.Int64 }

func (t *tally) Write(data []byte) (int, error) {
	t.fetched.Add(int64(len(data)))
	return len(data), nil
}

func (t *tally) String() string {
	if bytes := t.fetched.Load(); bytes > 0 {
		return fmt.Sprintf("%d MB fetched", bytes/1e6)
	}
	return fmt.Sprintf("%d modules downloaded, %d packages compiled", t.downloaded.Load(),
		t.compiled.Load())
}

// count counts a line that the go command prints.
func (t *tally) count(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		t.downloaded.Add(1)
	case !strings.ContainsRune(line, ' '): // go build -v names a package when it compiles it
		t.compiled.Add(1)
	}
}
