// Package diagram draws space–time diagrams: processes are horizontal lines, time runs to the
// right, messages are arrows. The output is SVG with its own light background, so that it looks the
// same on dark and light pages, and uses the fonts of the viewer. The same diagram always gives the
// same bytes.
//
// The package knows nothing about elections: the caller decides what to draw. It does not promise
// that labels never touch when hundreds of messages leave in the same instant; it places them where
// they cover least.
package diagram

// Diagram is what to draw. Times are in units of the time axis, from 0.
type Diagram struct {
	Title  string
	Lanes  []string // one per process, from top to bottom
	Arrows []Arrow
	Marks  []Mark
	Bars   []Bar
	End    float64 // where the time axis ends; nothing later is drawn
	Axis   string  // what the axis counts
	Key    string  // what the signs mean; empty: what they mean in a simulated election
	// NoFigures leaves the figures of the axis out: what is further right is no more than later.
	NoFigures bool
	// Silent are the lanes of processes that tell nothing of themselves: their lines are dotted.
	Silent map[int]bool
}

// Arrow is a message. Arrows with the same ends are drawn as one, with all their labels; arrows
// with the same label that leave a process in the same instant share one label.
type Arrow struct {
	From, To       int // lanes
	Sent, Received float64
	Label          string // the kind of the message; determines the colour
	Detail         string // the content of the message
	Lost           bool   // the message did not arrive: drawn dashed, ending in a cross
	Unknown        bool   // it is not known whether it did: dashed, ending in a question mark
}

// Kind is the kind of a Mark.
type Kind uint8

// The kinds of marks.
const (
	Crash      Kind = iota + 1 // the process stops: a cross, and its line ends
	Recover                    // its line starts again
	Coordinate                 // it starts to coordinate: its line becomes thick
	Stop                       // it stops coordinating
	Notice                     // another remarkable event: a small diamond
)

// Mark is an event at a process.
type Mark struct {
	Lane  int
	At    float64
	Kind  Kind
	Label string // optional
}

// Bar is an event that concerns all processes: a line from top to bottom.
type Bar struct {
	At    float64
	Label string
}
