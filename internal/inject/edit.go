package inject

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// editor collects edits of a text and applies them all at once.
type editor struct {
	original []byte
	lines    []int // the offset at which each line begins
	newline  string
	edits    []edit
	edited   map[*yaml.Node]bool // specs and containers: pods may share them by a YAML anchor
}

// edit replaces cut bytes at an offset by a text.
type edit struct {
	at, cut int
	text    string
}

func newEditor(text []byte) *editor {
	e := &editor{
		original: text,
		lines:    []int{0},
		newline:  "\n",
		edited:   make(map[*yaml.Node]bool),
	}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		at += size
		switch r { // the line ends of YAML 1.1
		case '\r':
			if at < len(text) && text[at] == '\n' {
				at++
			}
			e.lines = append(e.lines, at)
		case '\n', '\u0085', '\u2028', '\u2029':
			e.lines = append(e.lines, at)
		}
	}
	if bytes.Contains(text, []byte("\r\n")) {
		e.newline = "\r\n"
	}
	return e
}

// text returns the original with the edits applied; without edits, the original itself.
func (e *editor) text() []byte {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	var out bytes.Buffer
	done := 0
	for _, d := range e.edits {
		out.Write(e.original[done:d.at])
		out.WriteString(d.text)
		done = d.at + d.cut
	}
	out.Write(e.original[done:])
	return out.Bytes()
}

// addTo adds the sidecar to a pod's spec, and to each of its containers what that one lacks.
func (e *editor) addTo(spec *yaml.Node, sidecar []part, missing [][]part) error {
	if spec.Kind != yaml.MappingNode || len(spec.Content) == 0 {
		return fmt.Errorf("line %d: the pod's spec is empty", spec.Line)
	}
	if !e.edited[spec] {
		e.edited[spec] = true
		for _, p := range sidecar {
			if err := e.addPart(spec, p, step(spec), e.lineOfContainers(spec)); err != nil {
				return err
			}
		}
	}
	return e.addMissing(spec, missing)
}

// place is where a new key goes: before a line, at an indentation.
type place struct{ line, column int }

// addPart adds items to the front of a list of the mapping. Lists are indented by so many columns,
// and a new key goes to the place at.
func (e *editor) addPart(mapping *yaml.Node, p part, by int, at place) error {
	key, list := entry(mapping, p.list)
	inFlow := mapping.Style&yaml.FlowStyle != 0
	switch {
	case key == nil && inFlow:
		return e.insertAfter(mapping, '{', fmt.Sprintf("%q: [%s], ", p.list, flow(p)))
	case key == nil:
		margin := strings.Repeat(" ", at.column-1)
		e.insertLines(at.line, append([]string{margin + p.list + ":"}, indented(p, at.column-1+by)...))
		return nil
	case list.Kind == yaml.AliasNode:
		return fmt.Errorf("line %d: %s is a YAML alias: replace it by its value", list.Line, p.list)
	case isNull(list) && inFlow:
		e.edits = append(e.edits, edit{
			at:   e.offset(list),
			cut:  len(list.Value),
			text: "[" + flow(p) + "]",
		})
		return nil
	case isNull(list):
		e.cutValue(list, len(list.Value))
		e.insertLines(key.Line+1, indented(p, key.Column-1+by))
		return nil
	case list.Kind != yaml.SequenceNode:
		return fmt.Errorf("line %d: %s must be a list", list.Line, p.list)
	case list.Style&yaml.FlowStyle == 0:
		e.insertLines(key.Line+1, indented(p, list.Column-1))
		return nil
	case len(list.Content) == 0 && !inFlow &&
		bytes.HasPrefix(e.original[e.offset(list):], []byte("[]")):
		e.cutValue(list, len("[]"))
		e.insertLines(key.Line+1, indented(p, key.Column-1+by))
		return nil
	case len(list.Content) == 0:
		return e.insertAfter(list, '[', flow(p))
	default:
		return e.insertAfter(list, '[', flow(p)+", ")
	}
}

// lineOfContainers is before the containers, above the comments that belong to them.
func (e *editor) lineOfContainers(spec *yaml.Node) place {
	before, _ := entry(spec, "containers")
	if before == nil {
		before = spec.Content[0]
	}
	margin := strings.Repeat(" ", before.Column-1)
	line := before.Line
	for line > 1 && strings.HasPrefix(e.line(line-1), margin+"#") {
		line--
	}
	return place{line, before.Column}
}

// insertLines inserts whole lines before the line with that number, which may be one beyond the
// last.
func (e *editor) insertLines(number int, lines []string) {
	text := strings.Join(lines, e.newline) + e.newline
	if number > len(e.lines) { // the last line is not terminated
		e.edits = append(e.edits, edit{at: len(e.original), text: e.newline + text})
		return
	}
	e.edits = append(e.edits, edit{at: e.lines[number-1], text: text})
}

// insertAfter inserts text after the bracket that opens a node in flow style.
func (e *editor) insertAfter(n *yaml.Node, bracket byte, text string) error {
	at := e.offset(n)
	if at >= len(e.original) || e.original[at] != bracket {
		return fmt.Errorf("line %d: expected %c at the start of the value: remove anchors and tags",
			n.Line, bracket)
	}
	if next := e.original[at+1:]; len(next) > 0 && (next[0] == '\n' || next[0] == '\r') {
		text = strings.TrimSuffix(text, " ")
	}
	e.edits = append(e.edits, edit{at: at + 1, text: text})
	return nil
}

// cutValue removes a value of length bytes and the spaces before it.
func (e *editor) cutValue(n *yaml.Node, length int) {
	if length == 0 {
		return
	}
	at := e.offset(n)
	from := len(bytes.TrimRight(e.original[:at], " "))
	e.edits = append(e.edits, edit{at: from, cut: at - from + length})
}

// offset returns the byte offset at which a node begins. YAML counts columns in characters.
func (e *editor) offset(n *yaml.Node) int {
	at := e.lines[min(n.Line, len(e.lines))-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(e.original[at:])
		at += size
	}
	return at
}

// line returns the text of a line including its terminator.
func (e *editor) line(number int) string {
	rest := e.original[e.lines[number-1]:]
	if end := bytes.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end]
	}
	return string(rest)
}

// step returns by how much the lists of a spec are indented relative to their keys, judging by its
// containers.
func step(spec *yaml.Node) int {
	key, list := entry(spec, "containers")
	if key == nil || list.Kind != yaml.SequenceNode || list.Style&yaml.FlowStyle != 0 {
		return 0
	}
	return max(0, list.Column-key.Column)
}

func indented(p part, by int) []string {
	lines := make([]string, len(p.text))
	for i, line := range p.text {
		lines[i] = strings.Repeat(" ", by) + line
	}
	return lines
}

func flow(p part) string {
	items := make([]string, len(p.items))
	for i, item := range p.items {
		items[i] = asJSON(item)
	}
	return strings.Join(items, ", ")
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
