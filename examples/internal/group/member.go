package group

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// Member is what a pod is: an agent, and an app that asks it. It is not safe for concurrent use.
type Member struct {
	Name string
	Host string // an address of its own

	group *Group
	agent *process
	app   *process
	log   *os.File
}

// AgentURL returns where the agent serves the app.
func (m *Member) AgentURL() string { return "http://" + m.Host + ":4040" }

// Address returns an address of the member's own, for its app.
func (m *Member) Address() string { return m.Host + ":8080" }

// AgentCommand returns the command that runs the member's agent, for those who start it themselves.
func (m *Member) AgentCommand() *exec.Cmd {
	return exec.Command(m.group.agent, //nolint:gosec,noctx // it ends with the member
		"--roster", m.group.file("roster.json"), "--trust-file", m.group.file("ca.crt"),
		"--certificate", m.file(".crt"), "--key", m.file(".key"), "--state-dir", m.stateDir(),
		"--listen", m.Host+":4041", "--app-address", m.Host+":4040", "--status-address", m.Host+":4042")
}

// file returns the path of the member's own file of this kind.
func (m *Member) file(kind string) string { return m.group.file(m.Name + kind) }

func (m *Member) stateDir() string { return m.group.file("state-" + m.Name) }

// Start starts agent and app, as the kubelet does with the containers of a pod.
func (m *Member) Start() error {
	log, err := os.OpenFile(m.file(".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	m.log = log
	agent := m.AgentCommand()
	agent.Stdout, agent.Stderr = log, log
	if m.agent, err = begin(agent); err != nil {
		return err
	}
	return m.StartApp()
}

// StartApp starts the app alone. What it writes to its standard error goes to the member's log, and
// so does its standard output unless the command says otherwise.
func (m *Member) StartApp() error {
	app := m.group.app(m)
	app.Stderr = m.log
	if app.Stdout == nil {
		app.Stdout = m.log
	}
	var err error
	m.app, err = begin(app)
	return err
}

// Kill ends agent and app with SIGKILL, and returns when they have ended.
func (m *Member) Kill() {
	m.app.kill()
	m.agent.kill()
	m.app, m.agent = nil, nil
	if m.log != nil {
		_ = m.log.Close() // nothing writes to it any more
		m.log = nil
	}
}

// Pause stops agent and app with SIGSTOP, and returns when they stand still.
func (m *Member) Pause() error {
	return errors.Join(Stop(m.app.cmd.Process), Stop(m.agent.cmd.Process))
}

// Resume lets them go on.
func (m *Member) Resume() error {
	return errors.Join(
		m.app.cmd.Process.Signal(syscall.SIGCONT), m.agent.cmd.Process.Signal(syscall.SIGCONT))
}

// Log writes the end of what the member's programs have written.
func (m *Member) Log(out io.Writer) {
	const most = 3000
	text, err := os.ReadFile(m.file(".log"))
	if err != nil {
		return
	}
	fmt.Fprintf(out, "the log of %s:\n%s\n", m.Name, text[max(0, len(text)-most):])
}
