package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The longest strings that are shown, in characters.
const (
	maxName    = 253
	maxWord    = 64
	maxMessage = 2000
)

// Printable returns s as it may be written to a terminal: on one line, at most as many characters,
// and each of them printable. Others are written as escapes, such as \x1b; so are characters that
// combine with others, or change the direction of writing. White space becomes a space.
func Printable(s string, most int) string {
	var b strings.Builder
	n := 0
	for n < most && s != "" {
		r, size := utf8.DecodeRuneInString(s)
		piece := escape(r, s[:size])
		if n += utf8.RuneCountInString(piece); n > most {
			break
		}
		b.WriteString(piece)
		s = s[size:]
	}
	if s == "" {
		return b.String()
	}
	kept := []rune(b.String())
	return string(kept[:min(len(kept), max(most-1, 0))]) + "…"
}

// escape returns how a character is written; raw is how it is encoded.
func escape(r rune, raw string) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return fmt.Sprintf(`\x%02x`, raw[0])
	case r == '\n' || r == '\t' || r == '\r':
		return " "
	case unicode.IsPrint(r) && !unicode.Is(unicode.M, r):
		return raw
	case r <= 0xff:
		return fmt.Sprintf(`\x%02x`, r)
	default:
		return fmt.Sprintf(`\u%04x`, r)
	}
}

func name(s string) string    { return Printable(s, maxName) }
func word(s string) string    { return Printable(s, maxWord) }
func message(s string) string { return Printable(s, maxMessage) }
