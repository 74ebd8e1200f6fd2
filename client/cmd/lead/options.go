package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/podesta-dev/podesta/client/agent"
)

// The exit codes of lead are those of sysexits(3). Else it ends with the code of the command, which
// is 128 and the number of the signal if one has ended it, as in a shell.
const (
	exitUsage   = 64 // the command line is wrong
	exitNoAgent = 69 // no agent answers
	exitKernel  = 71 // the kernel refuses what lead needs
	exitLost    = agent.ExitCode
)

const (
	wait    = "wait"
	exit    = "exit"
	release = "release"
	restart = "restart"
)

// options is the command line.
type options struct {
	command program
	standby program // empty: none
	agent   string  // its URL
	grace   time.Duration
	graced  bool // --grace was given
	patient time.Duration
	onLoss  string
	onExit  string
	probe   bool
}

// program is what is started.
type program struct {
	path string
	args []string // the first is the name under which it was given
}

const usage = `lead runs a command while this process leads its group.

  lead [flags] -- command [argument ...]

The command is started when the agent in this pod permits that this process acts, and is ended
before that permission is over. It finds PODESTA_EPOCH, PODESTA_GROUP and PODESTA_NAME in its
environment.

`

// parse reads the command line. For --help it prints the help, and returns flag.ErrHelp.
func parse(args []string, out io.Writer) (options, error) {
	o := options{agent: new(agent.Client).BaseURL()}
	flags := flag.NewFlagSet("lead", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.agent, "agent", o.agent, "`URL` of the agent. Without it, $ELECTOR_PATH says "+
		"where the agent is, as in pods")
	flags.DurationVar(&o.grace, "grace", 10*time.Second, "how long the command may take to end "+
		"after SIGTERM. Then it gets SIGKILL. It gets that sooner if the permission is over sooner")
	flags.DurationVar(&o.patient, "wait-for-agent", time.Minute, "how long to wait at the start for "+
		"an agent that answers. Then the exit code is 69")
	flags.StringVar(&o.onLoss, "on-loss", wait, "what to do when this process leads no longer, and "+
		"the command has ended: `wait` until it leads again, or exit with code 75")
	flags.StringVar(&o.onExit, "on-exit", release, "what to do when the command ends by itself: "+
		"`release` the lead and exit with the command's code, or restart the command")
	standby := flags.String("standby", "", "a `command` to run while this process does not lead. Its "+
		"words are split as in a shell, with quotes and backslashes, and nothing is expanded")
	flags.BoolVar(&o.probe, "probe", false, "say what the lead of this container does, and exit with "+
		"0 if it runs: for a livenessProbe")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = io.WriteString(out, usage)
		flags.SetOutput(out)
		flags.PrintDefaults()
		return o, err
	}
	if err != nil || o.probe {
		return o, err
	}
	flags.Visit(func(f *flag.Flag) { o.graced = o.graced || f.Name == "grace" })
	if o.command, err = find(flags.Args()); err != nil {
		return o, err
	}
	if *standby != "" {
		split, err := words(*standby)
		if err == nil {
			o.standby, err = find(split)
		}
		if err != nil {
			return o, fmt.Errorf("--standby %q: %w", *standby, err)
		}
	}
	return o, o.check()
}

func (o options) check() error {
	for _, f := range []struct{ flag, value, one, other string }{
		{"on-loss", o.onLoss, wait, exit},
		{"on-exit", o.onExit, release, restart},
	} {
		if f.value != f.one && f.value != f.other {
			return fmt.Errorf("--%s is %q, and must be %s or %s", f.flag, f.value, f.one, f.other)
		}
	}
	if o.grace <= 0 || o.patient <= 0 {
		return errors.New("--grace and --wait-for-agent must be longer than nothing, such as 10s")
	}
	c := agent.Client{URL: o.agent}
	return c.Check()
}

// find finds the program of a command line.
func find(line []string) (program, error) {
	if len(line) == 0 {
		return program{}, errors.New("there is no command: lead [flags] -- command [argument ...]")
	}
	path, err := exec.LookPath(line[0])
	if err != nil {
		return program{}, fmt.Errorf("the command cannot be started: %w", err)
	}
	return program{path: path, args: line}, nil
}
