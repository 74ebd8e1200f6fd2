package fence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrLocked says that another gate has the file open.
var ErrLocked = errors.New("another gate has it open: one resource has one gate, and one process opens it")

// Open opens a gate that survives restarts: the highest epoch is on disk before it is admitted. The file is text, for one
// process at a time (ErrLocked; beside it lie path.lock, which stays, and at times path.tmp). Close lets go of it, as does
// the end of the process.
//
// A file that is not as it was written is an error, and is never taken for an empty one. A file that is missing is a new
// gate, which admits any epoch: keep it beside the data that it protects, so that who loses one loses both, and restore both
// together. On systems without flock the error is errors.ErrUnsupported; on network file systems flock may not exclude
// processes of other machines.
func Open(path string) (*Gate, error) {
	unlock, err := lock(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("open the gate %s: %w", path, err)
	}
	g := &Gate{release: unlock}
	g.keep = func(epoch int64) error {
		if err := replace(&folder{path: path}, encode(epoch)); err != nil {
			return fmt.Errorf("epoch %d is not admitted, as it could not be kept: %w", epoch, err)
		}
		return nil
	}
	if g.highest, err = load(path); errors.Is(err, fs.ErrNotExist) {
		err = replace(&folder{path: path}, encode(0)) // a disk that cannot be written to is better known now
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the gate: %w", err), unlock())
	}
	return g, nil
}

// load reads the highest epoch that was kept.
func load(path string) (int64, error) {
	data, err := os.ReadFile(path) //nolint:gosec // G703: the program that opens a gate says where
	if err != nil {
		return 0, err
	}
	epoch, err := decode(data)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return epoch, nil
}
