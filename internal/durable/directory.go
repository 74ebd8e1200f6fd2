package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Directory returns a directory of the operating system, which must exist when it is opened.
func Directory(path string) System { return directory(path) }

type directory string

func (d directory) path(name string) string { return filepath.Join(string(d), name) }

func (d directory) Create(name string) (File, error) {
	f, err := os.OpenFile(d.path(name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err // not a nil *os.File in a File
	}
	return f, nil
}

func (d directory) Open(name string) (io.ReadCloser, error) {
	f, err := os.Open(d.path(name))
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d directory) Overwrite(name string) (Overwriter, error) {
	f, err := os.OpenFile(d.path(name), os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return overwriter{f}, nil
}

type overwriter struct{ *os.File }

func (o overwriter) Sync() error { return syncContent(o.File) }

func (d directory) Rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }

func (d directory) Remove(name string) error { return os.Remove(d.path(name)) }

func (d directory) Sync() error { return syncDirectory(string(d)) }

func (d directory) Lock(name string) (unlock func() error, err error) { return lock(d.path(name)) }

func syncDirectory(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// MakeDirectory makes a directory, and those above it that are missing, so that they survive a loss
// of power. Only their owner may enter them.
func MakeDirectory(path string) error { return makeDirectory(path, syncDirectory) }

func makeDirectory(path string, sync func(string) error) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(path)
	if above != path {
		if err := makeDirectory(above, sync); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return sync(above)
}
