package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/client/agent"
)

func main() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // or the end of the log's reader ends lead
	written := make(chan struct{})
	go writeLines(written)
	code := run(os.Args[1:])
	time.AfterFunc(time.Second, func() { os.Exit(code) }) // if nobody reads
	said <- lastLine
	<-written
	os.Exit(code)
}

func run(args []string) (code int) {
	o, err := parse(args, os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		say("%v (lead --help)", err)
		return exitUsage
	case o.probe:
		state, err := probe()
		if err != nil {
			say("%v", err)
			return 1
		}
		fmt.Println(state)
		return 0
	}
	all, err := newChildren()
	if err != nil {
		say("%v", err)
		return exitKernel
	}
	return newLeader(o, all).main()
}

func newLeader(o options, all *children) *leader {
	l := &leader{options: o, all: all, asked: make(chan struct{})}
	l.over, l.end = context.WithCancel(context.Background())
	l.client = agent.Client{
		URL:    o.agent,
		HTTP:   &http.Client{Transport: all.session},
		Report: onceEach(func(err error) { say("%v", err) }),
	}
	l.tell("looks for its agent")
	return l
}

// tell has lead --probe say what lead does.
func (l *leader) tell(state string) { l.state.Store(&state) }

// main leads until there is nothing more to lead.
func (l *leader) main() (code int) {
	go l.heedSignals()
	go serveProbe(func() string { return *l.state.Load() })
	if !l.awaitAgent() {
		return l.code
	}
	l.beginStandby()
	go l.endIdle()
	err := agent.ErrClassic
	if l.view.Safety != "Classic" {
		err = l.guarded()
	}
	if errors.Is(err, agent.ErrClassic) {
		err = l.classic()
	}
	l.leads.Lock()
	defer l.leads.Unlock()
	l.endStandby()
	if !errors.Is(err, errDone) && l.over.Err() == nil {
		say("%v", err)
		return exitKernel
	}
	return l.code
}

// heedSignals passes signals on to the command. SIGTERM and SIGINT end lead, too.
func (l *leader) heedSignals() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH)
	for s := range signals {
		sig, _ := s.(syscall.Signal)
		if (sig == syscall.SIGTERM || sig == syscall.SIGINT) && !l.isAsked() {
			l.endSignal = sig
			close(l.asked)
			continue
		}
		l.all.forward(sig)
	}
}

// askAgain is how often lead looks at the start whether its agent is there.
const askAgain = 200 * time.Millisecond

// awaitAgent waits for an agent that answers. It returns false if none does in time, or if somebody
// asks lead to end.
func (l *leader) awaitAgent() bool {
	ctx, cancel := context.WithTimeout(l.over, l.patient)
	defer cancel()
	for first := true; ; first = false {
		view, err := l.client.Coordinator(ctx)
		if err == nil {
			l.view = view
			return true
		}
		if first {
			say("it waits for its agent: %v", err)
		}
		select {
		case <-time.After(askAgain):
		case <-l.asked:
			return false
		case <-ctx.Done():
			say("no agent has answered at %s for %v", l.agent, l.patient)
			l.code = exitNoAgent
			return false
		}
	}
}

// said are lines for people that are to be written, and lastLine ends them.
var said = make(chan string, 100)

const lastLine = ""

// say has a line written for people. It waits for nobody: if nobody reads the lines, the next ones
// are dropped.
func say(format string, args ...any) {
	line := "lead: " + strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")
	select {
	case said <- line:
	default:
	}
}

func writeLines(written chan<- struct{}) {
	defer close(written)
	for line := range said {
		if line == lastLine {
			return
		}
		_, _ = fmt.Fprintln(os.Stderr, line)
	}
}

// onceEach has a failure that repeats told once.
func onceEach(tell func(error)) func(error) {
	var mu sync.Mutex
	last := ""
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if err.Error() != last {
			last = err.Error()
			tell(err)
		}
	}
}
