package main

import (
	"fmt"
	"strings"

	g "github.com/podesta-dev/podesta/hack/dashboards/grafana"
)

// ofGroup are the matchers of the chosen group, ofNamespaces those of the chosen namespaces.
const (
	ofGroup      = `{namespace="$namespace", group="$group"}`
	ofNamespaces = `{namespace=~"$namespace"}`
)

// query puts matchers in place of § in an expression.
func query(expr, matchers, legend string) g.Query {
	return g.Query{Expr: strings.ReplaceAll(expr, "§", matchers), Legend: legend}
}

// increase is by how much a counter has grown since the panel's last point.
func increase(aggregate, counter, matchers, legend string) g.Query {
	return query(fmt.Sprintf("%s (increase(%s§[$__rate_interval]))", aggregate, counter), matchers,
		legend)
}

// rate is how fast a counter grows, in units a second.
func rate(aggregate, counter, matchers, legend string) g.Query {
	return query(fmt.Sprintf("%s (rate(%s§[$__rate_interval]))", aggregate, counter), matchers, legend)
}

// quantiles are the median and the 99th percentile of a histogram.
func quantiles(histogram, matchers string) []g.Query {
	const expr = "histogram_quantile(%v, sum by (le) (rate(%s_bucket§[$__rate_interval])))"
	return []g.Query{
		query(fmt.Sprintf(expr, 0.99, histogram), matchers, "99th percentile"),
		query(fmt.Sprintf(expr, 0.5, histogram), matchers, "median"),
	}
}
