package main

import (
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
	"github.com/podesta-dev/podesta/internal/display/text"
)

// forWatch returns where a watch is shown: in place on a terminal, else change by change.
func (s shower) forWatch() audience {
	if _, _, terminal := s.screen(s.out); terminal && !isDocument(s.format) {
		return &redrawing{shower: s}
	}
	return &stream{shower: s, shown: map[types.NamespacedName]written{}}
}

// stream writes a line for each change, or a document if the output is for programs.
type stream struct {
	shower
	shown map[types.NamespacedName]written
}

// written is what was written last of a group. The watch brings a new object with each change.
type written struct {
	group *v1.ElectionGroup
	stale bool
	says  *display.Agents // what the agents said of it
	// line is empty for JSON and YAML. Their ages always differ, so the versions are compared.
	line string
}

func (s *stream) each() time.Duration { return 0 }

func (s *stream) groups(all []*v1.ElectionGroup, current display.Current, _ string) error {
	there := make(map[types.NamespacedName]bool, len(all))
	for _, g := range all {
		key := keyOf(g)
		there[key] = true
		last, known := s.shown[key]
		next := written{group: g, stale: current.Stale, says: current.Agents}
		if known && last.group == g && last.stale == next.stale && last.says == next.says {
			continue
		}
		if !isDocument(s.format) {
			next.line = text.Line(display.Dated(g, s.now(), current))
		}
		s.shown[key] = next
		if known && s.same(last, next) {
			continue
		}
		if err := s.write(g, current, next.line); err != nil {
			return err
		}
	}
	for key := range s.shown {
		if there[key] {
			continue
		}
		delete(s.shown, key)
		if !isDocument(s.format) {
			if err := s.line("Deleted: group " + display.Printable(key.String(), 253)); err != nil {
				return err
			}
		}
	}
	return nil
}

// same reports whether a group's new object shows nothing new.
func (s *stream) same(last, next written) bool {
	if isDocument(s.format) {
		return last.group.ResourceVersion == next.group.ResourceVersion && last.stale == next.stale
	}
	return last.line == next.line
}

func (s *stream) write(g *v1.ElectionGroup, current display.Current, said string) error {
	if !isDocument(s.format) {
		return s.line(said)
	}
	document, err := encode(s.format, g.Name, display.Dated(g, s.now(), current), "")
	if err != nil {
		return err
	}
	if isJSONPath(s.format) {
		document = append(document, '\n')
	}
	if s.format == "yaml" {
		document = append([]byte("---\n"), document...)
	}
	_, err = s.out.Write(document)
	return err
}

func (s *stream) line(said string) error {
	_, err := fmt.Fprintf(s.out, "%s  %s\n", s.now().UTC().Format(time.RFC3339), said)
	return err
}

// redrawing redraws what there is in place.
type redrawing struct {
	shower
	drawn bool
}

// each: ages change by the second, and so may the size of the terminal.
func (s *redrawing) each() time.Duration { return time.Second }

func (s *redrawing) groups(all []*v1.ElectionGroup, current display.Current, note string) error {
	width, height, _ := s.screen(s.out)
	frame := text.Frame{
		Columns: width,
		Lines:   height,
		First:   !s.drawn,
		Options: s.options(),
	}
	s.drawn = true
	if note == "" {
		note = s.now().UTC().Format("15:04:05 UTC") + "; Ctrl-C ends"
		if s.which.name == "" {
			note = "as of " + current.Text() + "; " + note
		}
	}
	_, err := io.WriteString(s.out, frame.Draw(s.content(all, current), note))
	return err
}

func (s *redrawing) content(all []*v1.ElectionGroup, current display.Current) string {
	switch {
	case len(all) == 0:
		return s.noGroups() + "\n"
	case s.which.name != "":
		return text.Status(display.Dated(all[0], s.now(), current), s.options())
	default:
		return text.List(s.shown(all, current), s.options())
	}
}
