// Package exposition reads the metrics of an agent or a manager.
package exposition

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Get returns counters and gauges at a URL, each family added up over its labels.
func Get(ctx context.Context, url string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Timeout: 2 * time.Minute}).Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	all := map[string]float64{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			all[name] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return all, nil
}
