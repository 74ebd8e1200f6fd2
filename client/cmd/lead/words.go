package main

import (
	"errors"
	"strings"
)

// words splits a line as a shell splits it: at blanks, unless they are quoted. A backslash takes
// the next character as it is; within "…" it does so for \, ", $ and `. Nothing is expanded: there
// are no variables, no patterns, no pipes.
func words(line string) ([]string, error) {
	var all []string
	var word strings.Builder
	begun, quote := false, rune(0)
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case c == '\\' && quote != '\'':
			if i++; i == len(runes) {
				return nil, errors.New("a backslash is the last character")
			}
			if quote == '"' && !strings.ContainsRune("\\\"$`", runes[i]) {
				word.WriteRune(c)
			}
			word.WriteRune(runes[i])
			begun = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote == 0 && strings.ContainsRune(" \t\n", c):
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		all = append(all, word.String())
	}
	return all, nil
}
