package alerts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podesta-dev/podesta/test/stage"
)

const (
	linkPort   = "4041"
	hiddenPort = "4141"
)

// behindCuts has a pod's agent listen for links on another port than its peers know. A test that
// listens on the one they know can cut the links between them: the pods of the local cluster are
// all on the loopback interface, where nothing else can.
func behindCuts(pod *corev1.Pod) {
	for i, argument := range pod.Spec.InitContainers[0].Args {
		if strings.HasPrefix(argument, "--listen=") {
			pod.Spec.InitContainers[0].Args[i] = "--listen=[$(POD_IP)]:" + hiddenPort
		}
	}
}

// cuts passes the links of a group on, or not: what is sent on a link that is cut is neither
// delivered nor refused, as in a network that drops packets.
type cuts struct {
	group   *group
	mu      sync.Mutex
	changed *sync.Cond
	alone   map[string]bool // processes that are cut off from all others
}

// newCuts passes on the links of a group whose pods are behindCuts, for as long as this program
// runs: the group outlives its test.
func newCuts(g *group, pods map[string]corev1.Pod) *cuts {
	g.t.Helper()
	c := &cuts{group: g, alone: map[string]bool{}}
	c.changed = sync.NewCond(&c.mu)
	for name, pod := range pods {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort(pod.Status.PodIP, linkPort))
		must(g.t, err)
		go c.serve(l, name, net.JoinHostPort(pod.Status.PodIP, hiddenPort))
	}
	return c
}

// isolate cuts a process off from all others; heal ends all cuts.
func (c *cuts) isolate(process string) { c.set(map[string]bool{process: true}) }
func (c *cuts) heal()                  { c.set(map[string]bool{}) }

func (c *cuts) set(alone map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alone = alone
	c.changed.Broadcast()
}

// pass returns when a link between two processes is not cut.
func (c *cuts) pass(one, other string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.alone[one] || c.alone[other] {
		c.changed.Wait()
	}
}

func (c *cuts) serve(l net.Listener, to, hidden string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			from, err := c.dialer(in)
			if err != nil {
				return // it was closed meanwhile
			}
			c.pass(from, to)
			out, err := new(net.Dialer).DialContext(context.Background(), "tcp", hidden)
			if err != nil {
				return
			}
			defer out.Close()
			go func() { defer in.Close(); c.copy(in, out, from, to) }()
			c.copy(out, in, from, to)
		}()
	}
}

// copy passes on what is sent in one direction, as long as the link is not cut.
func (c *cuts) copy(to io.Writer, from io.Reader, one, other string) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		c.pass(one, other)
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// dialer is the process that has opened a connection to us, by the kernel's table of sockets.
func (c *cuts) dialer(conn net.Conn) (string, error) {
	inode, err := inodeOf(conn.RemoteAddr().String(), conn.LocalAddr().String())
	if err != nil {
		return "", err
	}
	pods, err := c.group.Pods(context.Background())
	if err != nil {
		return "", err
	}
	for name, pod := range pods {
		processes, err := stage.Processes(&pod)
		if err != nil {
			continue // it is about to start again
		}
		for _, pid := range processes {
			sockets, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
			for _, file := range sockets {
				if target, _ := os.Readlink(file); target == "socket:["+inode+"]" {
					return name, nil
				}
			}
		}
	}
	return "", errors.New("the socket is none of the group's")
}

// inodeOf finds the socket with that local and remote address.
func inodeOf(local, remote string) (string, error) {
	table, err := os.ReadFile("/proc/self/net/tcp")
	if err != nil {
		return "", err
	}
	from, to := kernels(local), kernels(remote)
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 9 && fields[1] == from && fields[2] == to {
			return fields[9], nil
		}
	}
	return "", fmt.Errorf("no socket from %s to %s", local, remote)
}

// kernels writes an IPv4 address as /proc/net/tcp does, on a machine that stores the low byte
// first.
func kernels(address string) string {
	host, port, _ := net.SplitHostPort(address)
	ip := net.ParseIP(host).To4()
	if ip == nil {
		return ""
	}
	number, _ := strconv.Atoi(port)
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], number)
}

func TestKernels(t *testing.T) {
	if got := kernels("127.64.0.3:4041"); got != "0300407F:0FC9" {
		t.Errorf("the address is %s", got)
	}
}
