package main

import (
	"fmt"
	"time"

	"github.com/podesta-dev/podesta/test/quantile"
)

// spread is median, 90th and 99th percentile and maximum, as columns of a table.
func spread(d []time.Duration) string {
	return fmt.Sprintf("%s | %s | %s | %s", ms(quantile.Of(d, 0.5)), ms(quantile.Of(d, 0.9)),
		ms(quantile.Of(d, 0.99)), ms(quantile.Of(d, 1)))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }
