// Command register is the fenced register of the chaos tests, and the app that writes to it.
//
//	register serve --listen 127.0.0.1:8080 --log register.jsonl
//	register write --agent http://127.0.0.1:4040 --register http://127.0.0.1:8080 --group g …
package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/writer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		stop()
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:          "register",
		Short:        "A fenced register, and an app that writes to it",
		SilenceUsage: true,
	}
	root.AddCommand(serveCommand(), writeCommand())
	return root
}

func serveCommand() *cobra.Command {
	var listen, file string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve registers until SIGINT or SIGTERM",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, closeLog, err := openLog(file, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			defer closeLog()
			return serve(cmd.Context(), listen, register.New(log, nil))
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "address")
	cmd.Flags().StringVar(&file, "log", "-", "file that each write is appended to, as a line of "+
		"JSON; - for standard output")
	return cmd
}

func serve(ctx context.Context, address string, r *register.Register) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func writeCommand() *cobra.Command {
	var o writer.Options
	var file string
	cmd := &cobra.Command{
		Use:   "write",
		Short: "Write to a register while the agent says that this process may act",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Ask = asking(o.UID)
			trace, closeTrace, err := openLog(file, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			defer closeTrace()
			o.Trace = trace
			o.Report = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) }
			return writer.Run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Agent, "agent", "http://127.0.0.1:4040", "base URL of the agent's app API")
	f.StringVar(&o.Register, "register", "http://127.0.0.1:8080", "URL of the register")
	f.StringVar(&o.Group, "group", "", "the group: its register")
	f.StringVar(&o.Process, "process", "", "the pod's name")
	f.StringVar(&o.UID, "uid", "", "the pod's UID")
	f.StringVar(&file, "trace", "-", "file that the trace is appended to; - for standard output")
	for _, name := range []string{"group", "process", "uid"} {
		_ = cmd.MarkFlagRequired(name) // fails only for a flag that does not exist
	}
	return cmd
}

// asking draws from the pod's UID how its app asks the agent. All lives of the app ask alike: an
// agent whose app had a session takes an app that opens none for one that has gone.
func asking(uid string) writer.Asking {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid)) // it never fails
	if h.Sum32()%2 == 0 {
		return writer.Session
	}
	return writer.Poll
}

// openLog opens a file to append to, without a buffer.
func openLog(file string, standard io.Writer) (log io.Writer, closeLog func(), err error) {
	if file == "-" {
		return standard, func() {}, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return f, func() { _ = f.Close() }, nil // what was written is written: nothing is buffered
}
