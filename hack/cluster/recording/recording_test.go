package recording

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hinshun/vt10x"
)

// screenOf is a terminal after some output.
func screenOf(output string) Picture {
	t := vt10x.New(vt10x.WithSize(20, 4))
	_, _ = t.Write([]byte(output))
	return pictureOf(t)
}

func TestPicture(t *testing.T) {
	p := screenOf("one\r\n\x1b[1;31mtwo\x1b[0m <3>\r\n")
	if len(p) != 2 || len(p[0]) != 1 || p[0][0] != (Run{0, "one", -1, false}) {
		t.Fatalf("%+v", p)
	}
	if len(p[1]) != 2 || p[1][0].Text != "two" || !p[1][0].Bold || p[1][0].Colour != 9 || p[1][1] != (Run{3, " <3>", -1, false}) {
		t.Errorf("%+v", p[1])
	}
	if p := screenOf("one\x1b[2J\x1b[Htwo"); len(p) != 1 || p[0][0].Text != "two" {
		t.Errorf("a cleared screen: %+v", p)
	}
}

// TestFilm: a picture is kept when it changes, and one that was written in pieces once.
func TestFilm(t *testing.T) {
	var f Film
	for _, step := range []struct {
		at   time.Duration
		said string
	}{{0, "o"}, {time.Millisecond, "one"}, {time.Second, "one"}, {2 * time.Second, "two"}} {
		f.add(step.at, screenOf(step.said))
	}
	if len(f.Frames) != 2 || f.Frames[0].Picture[0][0].Text != "one" || f.Frames[1].At != 2*time.Second {
		t.Errorf("%+v", f.Frames)
	}
}

// TestParts: columns stay where they are, also in a renderer that makes one space of several.
func TestParts(t *testing.T) {
	parts := Run{4, "  one two    three ", 2, false}.parts()
	if len(parts) != 2 || parts[0] != (Run{6, "one two", 2, false}) || parts[1] != (Run{17, "three", 2, false}) {
		t.Errorf("%+v", parts)
	}
}

// TestSVG: the picture is well-formed XML with each frame's text, and the last one is seen without
// animation.
func TestSVG(t *testing.T) {
	f := Film{
		Command: "kubectl <election>",
		Frames:  []Frame{{0, screenOf("a < b")}, {time.Second, screenOf("\x1b[32mgood")}},
		Length:  4 * time.Second,
	}
	svg := f.SVG()
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
	}
	for _, part := range []string{"a &lt; b</text>", `class="c2">good</text>`, "kubectl &lt;election&gt;",
		"@keyframes k0{0%{visibility:visible}25.00%{visibility:hidden}}",
		".f1{animation:k1 4.0s step-end infinite;visibility:visible}"} {
		if !strings.Contains(svg, part) {
			t.Errorf("it lacks %s\n%s", part, svg)
		}
	}
}
