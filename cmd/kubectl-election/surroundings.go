package main

import (
	"crypto/rand"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// surroundings are what a command that shows groups finds around it. Tests have others.
type surroundings struct {
	connect func(*cluster) (apiClient, string, error)
	inspect func(*cluster) (*inspector, error)
	agents  func(*cluster) (agents, error)
	views   func(*cluster) (views, error)
	now     func() time.Time
	// screen returns the size of the terminal that is written to, in characters, and false if there
	// is none.
	screen func(io.Writer) (width, height int, ok bool)
	id     func() string // of a request: another one each time
}

func realSurroundings() surroundings {
	return surroundings{
		connect: (*cluster).connect,
		agents:  (*cluster).agents,
		views:   (*cluster).views,
		inspect: (*cluster).inspect,
		now:     time.Now,
		screen:  screenOf,
		id:      rand.Text,
	}
}

func screenOf(out io.Writer) (width, height int, ok bool) {
	file, isFile := out.(*os.File)
	if !isFile || os.Getenv("TERM") == "dumb" {
		return 0, 0, false
	}
	fd := int(file.Fd())
	if !term.IsTerminal(fd) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(fd)
	if err != nil || width < 2 || height < 4 {
		return 80, 24, true
	}
	return width, height, true
}

// coloured reports whether colours may be written to a terminal: https://no-color.org.
func coloured(terminal bool) bool { return terminal && os.Getenv("NO_COLOR") == "" }
