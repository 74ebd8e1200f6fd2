package prometheus

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/api"
	promapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Client asks a Prometheus.
type Client struct{ api promapi.API }

func newClient(url string) (Client, error) {
	client, err := api.NewClient(api.Config{Address: url})
	return Client{promapi.NewAPI(client)}, err
}

// Firing returns the alerts that fire.
func (c Client) Firing(ctx context.Context) ([]promapi.Alert, error) {
	all, err := c.api.Alerts(ctx)
	return slices.DeleteFunc(all.Alerts, func(a promapi.Alert) bool {
		return a.State != promapi.AlertStateFiring
	}), err
}

// Query evaluates an expression now.
func (c Client) Query(ctx context.Context, expr string) (model.Vector, error) {
	value, _, _, err := c.api.Query(ctx, expr, time.Now())
	return read[model.Vector](expr, value, err)
}

// Range evaluates an expression from one instant to another.
func (c Client) Range(ctx context.Context, expr string, from, to time.Time,
	step time.Duration) (model.Matrix, error) {
	value, _, _, err := c.api.QueryRange(ctx, expr, promapi.Range{
		Start: from,
		End:   to,
		Step:  step,
	})
	return read[model.Matrix](expr, value, err)
}

func read[Answer model.Value](expr string, value model.Value, err error) (answer Answer, _ error) {
	if err != nil {
		return answer, fmt.Errorf("%s: %w", expr, err)
	}
	answer, ok := value.(Answer)
	if !ok {
		return answer, fmt.Errorf("%s: the answer is a %s", expr, value.Type())
	}
	return answer, nil
}
