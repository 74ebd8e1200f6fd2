package picture

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/hack/dashboards/grafana"
	"github.com/podesta-dev/podesta/test/prometheus"
)

// What is drawn is XML, has the words and names of the answers, and nothing of another query; what
// is missing leaves a gap.
func TestSVG(t *testing.T) {
	from := time.Unix(1000, 0)
	at := func(second int, value float64) prometheus.Point {
		return prometheus.Point{At: from.Add(time.Duration(second) * time.Second), Value: value}
	}
	query := func(expr string) grafana.Query { return grafana.Query{Expr: expr, Legend: "{{pod}}"} }
	words := map[string]grafana.Word{"1": {Text: "runs & works", Color: "green"}}
	p := Picture{
		Dashboard: grafana.Dashboard{Title: "A <dashboard>", Panels: grafana.Layout(
			grafana.Row{Height: 4, Panels: []grafana.Panel{
				grafana.Stat("Number", "", "short", grafana.Value, []grafana.Step{grafana.Base("green"), grafana.From(40, "red")}, query("number")),
				grafana.Stat("Who", "", "none", grafana.Name, []grafana.Step{grafana.Base("green")}, query("number")),
				grafana.Stat("Nothing", "", "none", grafana.Value, []grafana.Step{grafana.Base("green")}, query("nothing")),
			}},
			grafana.Row{Height: 8, Panels: []grafana.Panel{
				grafana.StateTimeline("States", "", words, query("states")),
				grafana.TimeSeries("Lines", "", "s", query("lines")),
			}},
		)},
		From: from, To: from.Add(time.Minute), Step: time.Second,
		Answers: map[string][]prometheus.Series{
			"number": {{Labels: map[string]string{"pod": "p-7"}, Points: []prometheus.Point{at(1, 41), at(2, 42)}}},
			"states": {{Labels: map[string]string{"pod": "p-1"}, Points: []prometheus.Point{at(1, 1), at(2, 1), at(9, 1)}}},
			"lines":  {{Labels: map[string]string{"pod": "p-2"}, Points: []prometheus.Point{at(1, .2), at(2, math.NaN()), at(3, .3), at(4, .4)}}},
			"other":  {{Labels: map[string]string{"pod": "stranger"}, Points: []prometheus.Point{at(1, 1)}}},
		},
		Marks: []Mark{{At: from.Add(time.Second), Text: "kill"}},
	}
	svg := string(p.SVG())
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v:\n%s", err, svg)
		}
	}
	for _, want := range []string{"A &lt;dashboard&gt;", ">42<", shades["red"], ">p-7<", ">–<", "runs &amp; works", ">p-1<",
		">p-2<", "500 ms", ">kill<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	if strings.Contains(svg, "stranger") || strings.Contains(svg, "NaN") {
		t.Error("the picture shows what no panel asks for, or NaN")
	}
	if states := strings.Count(svg, `fill="`+shades["green"]+`"/>`); states != 3 { // two and the legend's
		t.Errorf("%d rectangles of the state, want 3", states)
	}
	if _, path, _ := strings.Cut(svg, `<path d="`); strings.Count(path[:strings.Index(path, `"`)], "M") != 2 {
		t.Errorf("the line is not interrupted once: %s", path[:strings.Index(path, `"`)])
	}
}

func TestValues(t *testing.T) {
	for want, got := range map[string]string{
		"25 %": value(.25, "percentunit"), "3/s": value(3, "cps"), "0 s": value(0, "s"), "20 µs": value(2e-5, "s"),
		"1.5 s": value(1.5, "s"), "24 h": value(86400, "s"), "1048577": value(1048577, "none"),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for in, want := range map[float64]float64{0: 1, .3: .5, 1: 1, 7: 10, 12: 20} {
		if got := nice(in); math.Abs(got-want) > 1e-9 {
			t.Errorf("nice(%v) is %v, want %v", in, got, want)
		}
	}
}
