// Package diagram draws space–time diagrams: processes are horizontal lines, time runs to the right, messages are arrows.
// The output is SVG with a light ground of its own, so that it reads the same on dark and light pages, and uses the fonts
// of whoever shows it. The same diagram always gives the same bytes.
//
// It knows nothing of elections: who calls it says what to draw. What is not promised: that labels never touch when
// hundreds of messages leave in the same instant; they are placed where they cover least.
package diagram

// Diagram is what to draw. Times are in units of the time axis, from 0.
type Diagram struct {
	Title  string
	Lanes  []string // one line a process, from top to bottom
	Arrows []Arrow
	Marks  []Mark
	Bars   []Bar
	End    float64 // where the time axis ends; nothing later is drawn
	Axis   string  // what the axis counts
}

// Arrow is a message. Several with the same ends are drawn as one, with all their labels; those with the same label that
// leave a process in one instant share one label.
type Arrow struct {
	From, To       int // lanes
	Sent, Received float64
	Label          string // what kind of message it is; decides the colour
	Detail         string // what it says
	Lost           bool   // it was not received: drawn dashed, ending in a mark
}

// Kind is what a Mark marks.
type Kind uint8

// The marks.
const (
	Crash      Kind = iota + 1 // the process stops: a cross, and its line ends
	Recover                    // its line begins again
	Coordinate                 // it coordinates from here: its line is thick
	Resign                     // and no more
	Notice                     // something worth a word: a small diamond
)

// Mark is something that happens at a process.
type Mark struct {
	Lane  int
	At    float64
	Kind  Kind
	Label string // optional
}

// Bar is something that happens to all: a line from top to bottom.
type Bar struct {
	At    float64
	Label string
}
