// Package flood attacks a port as strangers do who want to fill the memory of the process behind
// it: many connections from several addresses of this machine, each of which sends as much as it is
// let, ends nothing that it has begun, and comes back when it is closed.
//
// Tests that use it have the build tag alone: `make test` runs them after all others, one by one.
package flood

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// pause is the time from the end of a connection to the next attempt. It spares this machine.
const pause = 5 * time.Second

// strangers is one flood.
type strangers struct {
	Address   string // of the victim
	Addresses int    // from 127.0.0.2 on
	Number    int    // of connections
	Attack    Attack
}

// attacker as the first argument makes a test's program the process of the strangers: see Attacker.
const attacker = "flood-attacker"

// begun is the line that this process prints when each stranger has sent once what it can.
const begun = "begun"

// Begin has each of so many strangers keep a connection to an address, from 127.0.0.2 and the
// addresses after it in turn. It returns when each has sent once what it can, or was refused; they
// go on until the test ends.
//
// The strangers stand for other machines, and must not take the processor from who is tested: they
// are a process of their own, which gets a third of the time that others get. It is this program,
// started again: its TestMain calls Attacker first.
func Begin(t *testing.T, address string, addresses, number int, attack Attack) {
	t.Helper()
	what, err := json.Marshal(strangers{address, addresses, number, attack})
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	//nolint:gosec,noctx // it is this program, and is killed when the test ends
	process := exec.Command("nice", "-n", "5", program, attacker, string(what))
	process.Stderr = os.Stderr
	if _, err := process.StdinPipe(); err != nil { // its end is the end of the strangers
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != begun {
		t.Fatalf("the flood did not begin: %q (%v)", line, err)
	}
}

// Attacker reports whether this process is to be the strangers of a Begin. If so, it is them until
// the test ends, or its process does.
func Attacker() bool {
	if len(os.Args) != 3 || os.Args[1] != attacker {
		return false
	}
	var s strangers
	if err := json.Unmarshal([]byte(os.Args[2]), &s); err != nil {
		panic(err)
	}
	go s.flood()
	_, _ = io.Copy(io.Discard, os.Stdin)
	return true
}

func (s strangers) flood() {
	var running, first sync.WaitGroup
	for i := range s.Number {
		own := net.IPv4(127, 0, 0, byte(2+i%s.Addresses)) //nolint:gosec // a few addresses
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: own}}
		first.Add(1)
		sent := sync.OnceFunc(first.Done)
		running.Go(func() {
			for {
				if conn, err := from.Dial("tcp", s.Address); err == nil {
					s.Attack.use(context.Background(), conn, sent)
					_ = conn.Close()
				}
				sent()
				<-time.After(pause)
			}
		})
	}
	first.Wait()
	fmt.Println(begun)
	running.Wait()
}

// PeakMemory returns the most memory that was ever resident of a process, in bytes.
func PeakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	process, err := procfs.NewProc(pid)
	if err != nil {
		t.Fatal(err)
	}
	status, err := process.NewStatus()
	if err != nil {
		t.Fatal(err)
	}
	return int64(status.VmHWM) //nolint:gosec // no process has that much
}
