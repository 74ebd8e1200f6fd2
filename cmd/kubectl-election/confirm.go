package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// confirmation adds the flag --yes to a command. It returns the question that the command asks
// before it changes anything.
func confirmation(c *cobra.Command) (ask func(group string) error) {
	yes := c.Flags().Bool("yes", false, "do not ask for confirmation")
	return func(group string) error {
		if *yes {
			return nil
		}
		return confirm(c.Context(), c.InOrStdin(), c.OutOrStdout(), group)
	}
}

// confirm asks the user to type the group's name. If ctx ends, the answer does not count: the
// terminal is read until there is one, or the program ends.
func confirm(ctx context.Context, in io.Reader, out io.Writer, group string) error {
	fmt.Fprintf(out, "\nType the group's name to continue: ")
	answered := make(chan error, 1)
	go func() { answered <- named(in, group) }()
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		fmt.Fprintln(out)
		return ctx.Err()
	}
}

// named reads a line, and returns an error if it is not the group's name.
func named(in io.Reader, group string) error {
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(line) != group {
		return errors.New("canceled, nothing was changed: the input is not the group's name")
	}
	return nil
}
