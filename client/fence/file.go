package fence

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/podesta-dev/podesta/client/agent"
)

// ErrLocked means that another gate has the file open.
var ErrLocked = errors.New(
	"another gate has it open: a resource has one gate, and one process opens it")

// Open opens a gate that survives restarts: the highest epoch is on disk before it is admitted. The
// file is text, for one process at a time (ErrLocked). Beside it are path.lock, which stays, and at
// times path.tmp. Close lets another process open it, as does the end of the process.
//
// A file that is not as it was written is an error, and never counts as an empty one. A file that
// is missing is a new gate, which admits any epoch. So keep the file beside the data that it
// protects: then both are lost together, and restored together. On systems without flock the error
// is errors.ErrUnsupported; on network file systems flock may not exclude processes of other
// machines.
func Open(path string) (*Gate, error) {
	if path == "" {
		return nil, errors.New("open the gate: its file has no name")
	}
	path, err := filepath.Abs(path) // the process may change its directory
	if err != nil {
		return nil, fmt.Errorf("open the gate: %w", err)
	}
	g, err := open(directory(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return nil, fmt.Errorf("open the gate %s: %w", path, err)
	}
	return g, nil
}

func open(d disk, name string) (*Gate, error) {
	s, err := openStore(d, name)
	if err != nil {
		return nil, err
	}
	highest, err := s.load()
	if errors.Is(err, fs.ErrNotExist) {
		err = s.write(encode(0)) // a disk that takes no writes is better known now
	}
	if err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	return &Gate{
		highest: highest,
		keep:    s.keep,
		release: s.unlock,
	}, nil
}

// load reads the highest epoch that was saved.
func (s *store) load() (agent.Epoch, error) {
	const most = 1 << 10 // a record is shorter
	data, err := s.read(most)
	if err != nil {
		return 0, err
	}
	return decode(data)
}

// keep saves an epoch before it is admitted.
func (s *store) keep(epoch agent.Epoch) error {
	if err := s.write(encode(epoch)); err != nil {
		return fmt.Errorf("epoch %v is not admitted, because it could not be saved: %w", epoch, err)
	}
	return nil
}
