package fence_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/fence"
)

// The process with epoch 5 was paused, 7 took over, and 5 wakes up.
func ExampleGate_Do() {
	var gate fence.Gate
	value := ""
	write := func(epoch agent.Epoch, v string) {
		err := gate.Do(epoch, func() error { value = v; return nil })
		fmt.Println(value, err)
	}
	write(5, "five")
	write(7, "seven")
	write(5, "five again")
	// Output:
	// five <nil>
	// seven <nil>
	// seven epoch 0.5 is stale: 0.7 was seen; stop acting, another process coordinates
}

// A gate on disk knows after a restart what it knew before.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "fence")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for _, epoch := range []agent.Epoch{7, 5} { // the resource restarts in between
		gate, err := fence.Open(filepath.Join(dir, "epoch"))
		if err != nil {
			panic(err)
		}
		err = gate.Admit(epoch)
		fmt.Println(int64(epoch), err, errors.Is(err, fence.ErrStale))
		gate.Close()
	}
	// Output:
	// 7 <nil> false
	// 5 epoch 0.5 is stale: 0.7 was seen; stop acting, another process coordinates true
}

// A resource server, and a client that was paused.
func ExampleHandler() {
	var gate fence.Gate
	server := httptest.NewServer(&fence.Handler{Gate: &gate, Next: http.NotFoundHandler()})
	defer server.Close()

	client := &http.Client{Transport: fence.Transport{Base: server.Client().Transport}}
	for _, epoch := range []agent.Epoch{7, 5} {
		work := fence.WithEpoch(context.Background(), epoch) // when the work begins, not when it is sent
		req, err := http.NewRequestWithContext(work, http.MethodDelete, server.URL, nil)
		if err != nil {
			panic(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			panic(err)
		}
		resp.Body.Close()
		fmt.Println(resp.StatusCode, fence.CheckResponse(resp))
	}
	// Output:
	// 404 <nil>
	// 412 epoch 0.5 is stale: 0.7 was seen; stop acting, another process coordinates
}

// database is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type database interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// finish checks and writes in one statement.
func finish(ctx context.Context, db database, epoch agent.Epoch, job int64) error {
	result, err := db.ExecContext(ctx, `UPDATE job SET state = 'done', epoch = $1 WHERE id = $2 AND epoch <= $1`, epoch, job)
	if err != nil {
		return err
	}
	return fence.CheckRows(epoch, result)
}

func ExampleCheckRows() {
	seen := row{epoch: 7} // stands for *sql.DB and a job that was written under epoch 7
	fmt.Println(finish(context.Background(), &seen, 7, 1))
	fmt.Println(finish(context.Background(), &seen, 5, 1))
	// Output:
	// <nil>
	// epoch 0.5 is stale: a higher one was seen; stop acting, another process coordinates
}

// row is a table of one row, which does what the statement of finish says.
type row struct{ epoch agent.Epoch }

func (r *row) ExecContext(_ context.Context, _ string, args ...any) (sql.Result, error) {
	if epoch, ok := args[0].(agent.Epoch); ok && r.epoch <= epoch {
		r.epoch = epoch
		return driver.RowsAffected(1), nil
	}
	return driver.RowsAffected(0), nil
}
