package fence

import (
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/podesta-dev/podesta/client/agent"
)

func TestCheckRows(t *testing.T) {
	for name, c := range map[string]struct {
		epoch  agent.Epoch
		result Result
		want   error
	}{
		"one row":                     {5, driver.RowsAffected(1), nil},
		"many":                        {5, driver.RowsAffected(9), nil},
		"none":                        {5, driver.RowsAffected(0), ErrStale},
		"none, and no epoch":          {0, driver.RowsAffected(0), ErrNoEpoch},
		"one row, and no epoch":       {0, driver.RowsAffected(1), ErrNoEpoch},
		"a driver that does not know": {5, driver.ResultNoRows, errors.ErrUnsupported},
		"one that says so by −1":      {5, driver.RowsAffected(-1), errors.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckRows(c.epoch, c.result)
			if errors.Is(c.want, errors.ErrUnsupported) {
				if err == nil || errors.Is(err, ErrStale) {
					t.Errorf("%v: what is not known is neither written nor stale", err)
				}
				return
			}
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}
