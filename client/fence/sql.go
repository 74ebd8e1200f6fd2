package fence

// Result is what CheckRows reads of an sql.Result.
type Result interface {
	RowsAffected() (int64, error)
}

// CheckRows is for a statement that checks the epoch and writes in one step: no row affected means that a higher epoch was
// there (*StaleError). Where one row is what is protected, it carries the epoch:
//
//	UPDATE job SET state = $3, epoch = $1 WHERE id = $2 AND epoch <= $1
//
// Where a transaction writes many, its first statement claims one row for all; the row stays locked until the commit, so
// that no higher epoch gets in between:
//
//	BEGIN;
//	UPDATE fence SET epoch = $1 WHERE resource = $2 AND epoch <= $1;  -- CheckRows; if stale, ROLLBACK
//	…
//	COMMIT;
//
// A row that does not exist looks stale, too: make it beforehand with epoch 0, or upsert (docs/fencing.md). MySQL counts the
// rows that it *changed*: connect with clientFoundRows=true, or the second claim under one epoch looks stale. Claims at
// isolation levels above READ COMMITTED may fail with a serialization error, which is no answer: try again.
func CheckRows(epoch int64, result Result) error {
	if err := valid(epoch); err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return &StaleError{Epoch: epoch}
	}
	return nil
}
