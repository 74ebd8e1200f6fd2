package recording

import (
	"fmt"
	"html"
	"strings"
	"time"
	"unicode/utf8"
)

// The sizes of a character and of what is around the text, in pixels.
const (
	charWidth, lineHeight = 8.0, 18.0
	margin, bar           = 14.0, 30.0
)

// colours are the terminal's sixteen on a dark background.
var colours = [16]string{"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff",
	"#39c5cf", "#b1bac4",
	"#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff"}

// SVG draws the film. It plays again and again, by CSS alone, so it also plays where a page shows
// it as an image. What knows no animation shows the last picture.
func (f *Film) SVG() string {
	rows := 0
	for _, frame := range f.Frames {
		rows = max(rows, len(frame.Picture))
	}
	width, height := columns*charWidth+2*margin, float64(rows)*lineHeight+2*margin+bar
	var b strings.Builder
	fmt.Fprintf(
		&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">`+
			"\n", width, height,
		width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>\n", html.EscapeString(f.Command))
	b.WriteString("text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans " +
		"Mono',monospace;fill:#c9d1d9}\n.f{visibility:hidden}\n.b{font-weight:bold}\n")
	for i, colour := range colours {
		fmt.Fprintf(&b, ".c%d{fill:%s}\n", i, colour)
	}
	f.timing(&b)
	fmt.Fprintf(&b, "</style>\n"+`<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n")
	for i, light := range []string{"#ff5f56", "#ffbd2e", "#27c93f"} {
		fmt.Fprintf(&b, `<circle cx="%.0f" cy="%.0f" r="6" fill="%s"/>`+"\n", margin+6+float64(i)*20,
			bar/2+2, light)
	}
	fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" text-anchor="middle">$ %s</text>`+"\n", width/2, bar/2+7,
		html.EscapeString(f.Command))
	for i, frame := range f.Frames {
		fmt.Fprintf(&b, `<g class="f f%d">`+"\n", i)
		for y, line := range frame.Picture {
			for _, run := range line {
				for _, part := range run.parts() {
					part.draw(&b, bar+margin+float64(y+1)*lineHeight-5)
				}
			}
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// timing has each picture seen from when it appeared until the next one did.
func (f *Film) timing(b *strings.Builder) {
	share := func(at time.Duration) float64 { return 100 * at.Seconds() / f.Length.Seconds() }
	for i, frame := range f.Frames {
		from, to := share(frame.At), 100.0
		last := i == len(f.Frames)-1
		if !last {
			to = share(f.Frames[i+1].At)
		}
		fmt.Fprintf(b, ".f%d{animation:k%d %.1fs step-end infinite", i, i, f.Length.Seconds())
		if last {
			b.WriteString(";visibility:visible")
		}
		fmt.Fprintf(b, "}\n@keyframes k%d{", i)
		if i > 0 {
			fmt.Fprintf(b, "0%%{visibility:hidden}%.2f%%{visibility:visible}", from)
		} else {
			b.WriteString("0%{visibility:visible}")
		}
		if !last {
			fmt.Fprintf(b, "%.2f%%{visibility:hidden}", to)
		}
		b.WriteString("}\n")
	}
}

// parts splits a run where it has several spaces, which not every renderer keeps.
func (r Run) parts() (parts []Run) {
	for at := 0; at < len(r.Text); {
		length := strings.Index(r.Text[at:], "  ")
		if length < 0 {
			length = len(r.Text) - at
		}
		part := r
		part.Text = strings.TrimSpace(r.Text[at : at+length])
		part.Column += utf8.RuneCountInString(r.Text[:at+strings.Index(r.Text[at:], part.Text)])
		if part.Text != "" {
			parts = append(parts, part)
		}
		at += max(length, 1)
	}
	return parts
}

// draw writes a run. Its length is given, so that columns stay columns in any font.
func (r Run) draw(b *strings.Builder, y float64) {
	class := ""
	if r.Colour >= 0 {
		class = fmt.Sprintf("c%d", r.Colour)
	}
	if r.Bold {
		class = strings.TrimSpace(class + " b")
	}
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(b, `<text x="%.0f" y="%.0f" textLength="%.0f"%s>%s</text>`+"\n",
		margin+float64(r.Column)*charWidth, y, float64(utf8.RuneCountInString(r.Text))*charWidth, class,
		html.EscapeString(r.Text))
}
