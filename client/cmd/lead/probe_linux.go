package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// probeWithin bounds a probe.
const probeWithin = time.Second

// maxState bounds what a probe reads.
const maxState = 1 << 10

// probeAddress is a socket without a file, because the file system may be read-only. All containers
// of a pod see such sockets. So the name is that of the container's process namespace.
func probeAddress() (string, error) {
	namespace, err := os.Readlink("/proc/self/ns/pid")
	return "@podesta-lead/" + namespace, err
}

// serveProbe answers lead --probe until this process ends. One socket serves a container. Where
// more than one lead runs, the first serves it.
func serveProbe(state func() string) {
	address, err := probeAddress()
	if err != nil {
		return
	}
	var lasting net.ListenConfig
	listener, err := lasting.Listen(context.Background(), "unix", address)
	if err != nil {
		return
	}
	for {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		_ = c.SetDeadline(time.Now().Add(probeWithin))
		_, _ = io.WriteString(c, state())
		_ = c.Close()
	}
}

// probe asks the lead of this container what it does.
func probe() (string, error) {
	address, err := probeAddress()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeWithin)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", address)
	if err != nil {
		return "", fmt.Errorf("no lead runs here: %w", err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(probeWithin))
	state, err := io.ReadAll(io.LimitReader(c, maxState))
	if err == nil && len(state) == 0 {
		err = errors.New("the lead that runs here does not answer")
	}
	return string(state), err
}
