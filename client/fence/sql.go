package fence

import (
	"fmt"

	"github.com/podesta-dev/podesta/client/agent"
)

// Result is what CheckRows reads of an sql.Result.
type Result interface {
	RowsAffected() (int64, error)
}

// CheckRows is for a statement that checks the epoch and writes in one step: if it affected no row,
// the row has a higher epoch (*StaleError). To protect one row, put the epoch into it:
//
//	UPDATE job SET state = $3, epoch = $1 WHERE id = $2 AND epoch <= $1
//
// To protect many rows that a transaction writes, let its first statement update one row for all of
// them. That row stays locked until the commit, so that no higher epoch gets in between:
//
//	BEGIN;
//	UPDATE fence SET epoch = $1 WHERE resource = $2 AND epoch <= $1;
//	-- CheckRows; if stale, ROLLBACK
//	…
//	COMMIT;
//
// A row that does not exist looks stale, too: make it beforehand with epoch 0, or upsert (see
// docs/guides/fencing.md). MySQL counts the rows that it changed: connect with
// clientFoundRows=true, or the second update under one epoch looks stale. At isolation levels
// above READ COMMITTED the update may fail with a serialization error, which decides nothing: try
// again.
func CheckRows(epoch agent.Epoch, result Result) error {
	if err := valid(epoch); err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return err
	}
	switch {
	case n < 0: // some drivers say −1
		return fmt.Errorf("the driver does not know how many rows were affected (%d), so nobody knows "+
			"whether epoch %v is stale", n, epoch)
	case n == 0:
		return &StaleError{Epoch: epoch}
	}
	return nil
}
