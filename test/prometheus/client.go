package prometheus

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/api"
	promapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Client asks a Prometheus.
type Client struct{ URL string }

// Point is a value at an instant. It may be NaN.
type Point struct {
	At    time.Time
	Value float64
}

// Series is what a query returns of one set of labels.
type Series struct {
	Labels map[string]string
	Points []Point
}

// Alert is an alert that fires.
type Alert struct {
	Labels, Annotations map[string]string
}

// Firing returns the alerts that fire.
func (c Client) Firing(ctx context.Context) ([]Alert, error) {
	asks, err := c.api()
	if err != nil {
		return nil, err
	}
	all, err := asks.Alerts(ctx)
	if err != nil {
		return nil, err
	}
	var firing []Alert
	for _, a := range all.Alerts {
		if a.State == promapi.AlertStateFiring {
			firing = append(firing, Alert{plain(a.Labels), plain(a.Annotations)})
		}
	}
	return firing, nil
}

// Query evaluates an expression at an instant.
func (c Client) Query(ctx context.Context, expr string, at time.Time) ([]Series, error) {
	asks, err := c.api()
	if err != nil {
		return nil, err
	}
	value, _, _, err := asks.Query(ctx, expr, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	return series(value)
}

// Range evaluates an expression from one instant to another.
func (c Client) Range(ctx context.Context, expr string, from, to time.Time,
	step time.Duration) ([]Series, error) {
	asks, err := c.api()
	if err != nil {
		return nil, err
	}
	value, _, _, err := asks.QueryRange(ctx, expr, promapi.Range{
		Start: from,
		End:   to,
		Step:  step,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	return series(value)
}

func (c Client) api() (promapi.API, error) {
	client, err := api.NewClient(api.Config{Address: c.URL})
	return promapi.NewAPI(client), err
}

// series reads vectors and matrices.
func series(value model.Value) ([]Series, error) {
	var all []Series
	switch value := value.(type) {
	case model.Vector:
		for _, s := range value {
			all = append(all, Series{plain(model.LabelSet(s.Metric)),
				[]Point{{s.Timestamp.Time(), float64(s.Value)}}})
		}
	case model.Matrix:
		for _, s := range value {
			one := Series{Labels: plain(model.LabelSet(s.Metric))}
			for _, p := range s.Values {
				one.Points = append(one.Points, Point{p.Timestamp.Time(), float64(p.Value)})
			}
			all = append(all, one)
		}
	default:
		return nil, fmt.Errorf("the answer is a %s, and no series", value.Type())
	}
	return all, nil
}

func plain(labels model.LabelSet) map[string]string {
	all := make(map[string]string, len(labels))
	for name, value := range labels {
		all[string(name)] = string(value)
	}
	return all
}
