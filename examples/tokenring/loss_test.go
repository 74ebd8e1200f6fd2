package main

import (
	"testing"
	"time"
)

// TestLoss goes through what a coordinator learns from round to round, a second apart.
func TestLoss(t *testing.T) {
	one, two := Token{Epoch: 1, Number: 1, Hop: 1}, Token{Epoch: 1, Number: 1, Hop: 2}
	for name, test := range map[string]struct {
		rounds []round
		lost   int // the round in which the loss is certain, from 1 on; 0: in none
	}{
		"there has never been one":   {rounds: []round{{}, {}}, lost: 2},
		"it is passed on":            {rounds: []round{{highest: one}, {highest: two}, {highest: two, held: true}}},
		"it is held":                 {rounds: []round{{highest: one, held: true}, {highest: one, held: true}}},
		"it was held until now":      {rounds: []round{{highest: one, held: true}, {highest: one}}},
		"nobody has it":              {rounds: []round{{highest: one, held: true}, {highest: one}, {highest: one}}, lost: 3},
		"a silent process may do":    {rounds: []round{{highest: one, silent: 1}, {highest: one, silent: 1}}},
		"it was silent":              {rounds: []round{{highest: one, silent: 1}, {highest: one}}},
		"it was silent, and answers": {rounds: []round{{highest: one, silent: 1}, {highest: one}, {highest: one}}, lost: 3},
		"it is silent for too long": {
			rounds: []round{{highest: one, silent: 1}, {highest: one, silent: 1}, {highest: one, silent: 1}, {highest: one, silent: 1}},
			lost:   4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := loss{patience: 3 * time.Second}
			lost := 0
			for i, r := range test.rounds {
				if l.is(r, time.Unix(int64(1+i), 0)) && lost == 0 {
					lost = i + 1
				}
			}
			if lost != test.lost {
				t.Errorf("it is lost in round %d, want %d", lost, test.lost)
			}
		})
	}
}
