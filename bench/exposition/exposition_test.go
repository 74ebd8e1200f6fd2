package exposition

import (
	"maps"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	got, err := read(strings.NewReader(`# HELP requests_total Requests, by kind.
# TYPE requests_total counter
requests_total{kind="VOTE"} 400
requests_total{kind="TAKE OVER"} 4
requests_total_of_another_family 1e+03

epoch 1048577
`))
	want := map[string]float64{"requests_total": 404, "requests_total_of_another_family": 1000, "epoch": 1048577}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if _, err := read(strings.NewReader("epoch many\n")); err == nil {
		t.Error("many is a number")
	}
}
