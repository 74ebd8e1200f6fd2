package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// web asks for what answers within moments, on the loopback interface.
var web = &http.Client{Timeout: 30 * time.Second}

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

// Alert is an alert that is pending or firing.
type Alert struct {
	State       string            `json:"state"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Firing returns the alerts that fire.
func (c Client) Firing(ctx context.Context) ([]Alert, error) {
	var data struct {
		Alerts []Alert `json:"alerts"`
	}
	if err := c.get(ctx, "/api/v1/alerts", nil, &data); err != nil {
		return nil, err
	}
	var firing []Alert
	for _, a := range data.Alerts {
		if a.State == "firing" {
			firing = append(firing, a)
		}
	}
	return firing, nil
}

// Query evaluates an expression at an instant.
func (c Client) Query(ctx context.Context, expr string, at time.Time) ([]Series, error) {
	return c.series(ctx, "/api/v1/query", url.Values{"query": {expr}, "time": {unix(at)}})
}

// Range evaluates an expression from one instant to another.
func (c Client) Range(ctx context.Context, expr string, from, to time.Time,
	step time.Duration) ([]Series, error) {
	return c.series(ctx, "/api/v1/query_range", url.Values{
		"query": {expr},
		"start": {unix(from)},
		"end":   {unix(to)},
		"step":  {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)},
	})
}

func unix(at time.Time) string { return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64) }

// series reads vectors and matrices.
func (c Client) series(ctx context.Context, path string, values url.Values) ([]Series, error) {
	var data struct {
		Result []struct {
			Metric map[string]string    `json:"metric"`
			Value  *[2]json.RawMessage  `json:"value"`
			Values [][2]json.RawMessage `json:"values"`
		} `json:"result"`
	}
	if err := c.get(ctx, path, values, &data); err != nil {
		return nil, err
	}
	var all []Series
	for _, r := range data.Result {
		s := Series{Labels: r.Metric}
		if r.Value != nil {
			r.Values = append(r.Values, *r.Value)
		}
		for _, pair := range r.Values {
			p, err := point(pair)
			if err != nil {
				return nil, err
			}
			s.Points = append(s.Points, p)
		}
		all = append(all, s)
	}
	return all, nil
}

func point(pair [2]json.RawMessage) (Point, error) {
	var seconds float64
	var text string
	if err := json.Unmarshal(pair[0], &seconds); err != nil {
		return Point{}, err
	}
	if err := json.Unmarshal(pair[1], &text); err != nil {
		return Point{}, err
	}
	value, err := strconv.ParseFloat(text, 64)
	return Point{At: time.UnixMilli(int64(seconds * 1000)), Value: value}, err
}

// get asks the API, and returns Prometheus' own error if it has one.
func (c Client) get(ctx context.Context, path string, values url.Values, data any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path+"?"+values.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := web.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer := struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   any    `json:"data"`
	}{Data: data}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("prometheus says of %s: %s", values.Get("query"), answer.Error)
	}
	return nil
}
