package prometheus_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/prometheus"
)

// What Prometheus answers is read: vectors, ranges with NaN, alerts, and its errors.
func TestAnswers(t *testing.T) {
	answers := map[string]string{
		"/api/v1/query":       `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1.5,"2"]}]}}`,
		"/api/v1/query_range": `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"2"],[2,"NaN"]]}]}}`,
		"/api/v1/alerts": `{"status":"success","data":{"alerts":[{"state":"pending","labels":{"alertname":"A"}},` +
			`{"state":"firing","labels":{"alertname":"B"}}]}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.FormValue("query"), "wrong") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"status":"error","errorType":"bad_data","error":"parse error"}`))
			return
		}
		_, _ = w.Write([]byte(answers[r.URL.Path]))
	}))
	defer server.Close()
	c := prometheus.Client{URL: server.URL}
	now := time.Now()
	vector, err := c.Query(t.Context(), "a", now)
	if err != nil || len(vector) != 1 || vector[0].Labels["a"] != "b" || vector[0].Points[0].Value != 2 ||
		vector[0].Points[0].At.UnixMilli() != 1500 {
		t.Errorf("a vector is %+v, %v", vector, err)
	}
	matrix, err := c.Range(t.Context(), "a", now, now, time.Second)
	if err != nil || len(matrix) != 1 || len(matrix[0].Points) != 2 || !math.IsNaN(matrix[0].Points[1].Value) {
		t.Errorf("a range is %+v, %v", matrix, err)
	}
	firing, err := c.Firing(t.Context())
	if err != nil || len(firing) != 1 || firing[0].Labels["alertname"] != "B" {
		t.Errorf("these fire: %+v, %v", firing, err)
	}
	if _, err := c.Query(t.Context(), "wrong", now); err == nil || !strings.Contains(err.Error(), "parse error") {
		t.Errorf("a wrong query: %v", err)
	}
}

// A real Prometheus starts, scrapes itself, and ends; one with a wrong configuration does not, and
// says where to look.
func TestStart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := prometheus.Start(ctx, t.TempDir(), []byte("global: {scrape_interval: 1s}\n"), nil)
	if errors.Is(err, prometheus.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if two, err := s.Query(ctx, "vector(2)", time.Now()); err != nil || len(two) != 1 || two[0].Points[0].Value != 2 {
		t.Errorf("vector(2) is %+v, %v", two, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	folder := t.TempDir()
	if _, err := prometheus.Start(ctx, folder, []byte("nonsense: true\n"), nil); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("a wrong configuration: %v", err)
	}
}
