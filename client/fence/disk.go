package fence

import (
	"os"
	"path/filepath"
)

// disk is what it takes to replace a file so that a crash leaves the old or the new content, whole.
type disk interface {
	write(data []byte) error // to a file under a temporary name
	sync() error             // what was written survives a loss of power
	rename() error           // it takes the place of the file
	syncDirectory() error    // its name survives, too
}

// replace returns nil only when the data survives whatever happens next.
func replace(d disk, data []byte) error {
	for _, step := range []func() error{func() error { return d.write(data) }, d.sync, d.rename, d.syncDirectory} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// folder is the disk that a path lies on.
type folder struct {
	path string
	temp *os.File // between write and sync
}

func (d *folder) temporary() string { return d.path + ".tmp" }

func (d *folder) write(data []byte) error {
	f, err := os.OpenFile(d.temporary(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close() // the write has failed: nothing hangs on it
		return err
	}
	d.temp = f
	return nil
}

func (d *folder) sync() error { return syncAndClose(d.temp) }

func (d *folder) rename() error { return os.Rename(d.temporary(), d.path) }

func (d *folder) syncDirectory() error {
	f, err := os.Open(filepath.Dir(d.path))
	if err != nil {
		return err
	}
	return syncAndClose(f)
}

func syncAndClose(f *os.File) error {
	if err := f.Sync(); err != nil {
		_ = f.Close() // the sync has failed: nothing hangs on it
		return err
	}
	return f.Close()
}
