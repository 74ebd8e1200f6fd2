package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// without sees that what has caught a mutant finds nothing without one, or it would catch each. It
// looks once for each search, and only when that has caught a mutant. It is safe for concurrent
// use.
type without struct {
	mu     sync.Mutex
	looked map[string]func() error
}

// look searches in a package without a mutant, unless it has done so before.
func (w *without) look(ctx context.Context, s search) error {
	return w.once(s.pkg+" "+strings.Join(s.args, " "), func() (what string, err error) {
		err = inside(func(dir string) error {
			binary, err := build(ctx, s.pkg, dir)
			if err == nil {
				what, err = s.run(ctx, binary)
			}
			return err
		})
		return what, err
	})
}

// once runs what has this name, unless it was run before, and reports an error if it has found
// something.
func (w *without) once(name string, run func() (string, error)) error {
	w.mu.Lock()
	if w.looked == nil {
		w.looked = map[string]func() error{}
	}
	look, known := w.looked[name]
	if !known {
		look = sync.OnceValue(func() error {
			what, err := run()
			if err == nil && what != nobody {
				err = fmt.Errorf("without a mutant, %s finds %s", name, what)
			}
			return err
		})
		w.looked[name] = look
	}
	w.mu.Unlock()
	return look()
}
