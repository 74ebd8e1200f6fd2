package fence

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
)

var (
	errIO      = errors.New("input/output error")
	errCrashed = errors.New("the process has crashed")
)

// memory is a disk that fails or crashes at one step, and loses power.
type memory struct {
	fault   error // of the step with this number
	at      int
	steps   int
	files   map[string]*content // as the running system sees them
	synced  map[string]*content // as their names survive a loss of power
	pending []func(map[string]*content)
}

type content struct {
	*memory
	data   []byte
	synced bool
}

func newMemory(at int, fault error) *memory {
	return &memory{
		fault:  fault,
		at:     at,
		files:  map[string]*content{},
		synced: map[string]*content{},
	}
}

// step returns the fault if it is due. After a crash every step fails.
func (m *memory) step() error {
	m.steps++
	if m.steps-1 == m.at || errors.Is(m.fault, errCrashed) && m.steps > m.at {
		return m.fault
	}
	return nil
}

func (m *memory) change(of func(map[string]*content)) {
	of(m.files)
	m.pending = append(m.pending, of)
}

func (m *memory) lock(string) (unlock func() error, err error) {
	return func() error { return nil }, m.step()
}

func (m *memory) open(name string) (io.ReadCloser, error) {
	if err := m.step(); err != nil {
		return nil, err
	}
	if m.files[name] == nil {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(m.files[name].data)), nil
}

func (m *memory) create(name string) (writer, error) {
	c := &content{memory: m}
	if err := m.step(); err != nil {
		return nil, err
	}
	m.change(func(names map[string]*content) { names[name] = c })
	return c, nil
}

func (m *memory) rename(from, to string) error {
	if err := m.step(); err != nil {
		return err
	}
	c := m.files[from]
	m.change(func(names map[string]*content) {
		delete(names, from)
		names[to] = c
	})
	return nil
}

func (m *memory) remove(name string) error {
	if err := m.step(); err != nil {
		return err
	}
	if m.files[name] == nil {
		return fs.ErrNotExist
	}
	m.change(func(names map[string]*content) { delete(names, name) })
	return nil
}

func (m *memory) sync() error {
	if err := m.step(); err != nil {
		return err
	}
	m.synced, m.pending = maps.Clone(m.files), nil
	return nil
}

func (c *content) Write(data []byte) (int, error) {
	err := c.step()
	if err != nil {
		data = data[:len(data)/2]
	}
	c.data, c.synced = append(c.data, data...), false
	return len(data), err
}

func (c *content) Sync() error {
	err := c.step()
	c.synced = c.synced || err == nil
	return err
}

func (c *content) Close() error { return c.step() }

// restarted returns the disk as the next process finds it: the system lost nothing yet.
func (m *memory) restarted() *memory {
	next := newMemory(-1, nil)
	next.files, next.synced = maps.Clone(m.files), maps.Clone(m.synced)
	next.pending = slices.Clone(m.pending)
	return next
}

// afterPowerLoss returns what a loss of power may leave. It may undo each change of a name since
// the last sync, and leave of an unsynced file nothing, a part, zeros, or all.
func (m *memory) afterPowerLoss() (disks []*memory) {
	spoils := []func([]byte) []byte{
		func([]byte) []byte { return nil },
		func(data []byte) []byte { return data[:len(data)/2] },
		func(data []byte) []byte { return make([]byte, len(data)) },
		func(data []byte) []byte { return data },
	}
	for subset := range 1 << len(m.pending) {
		names := maps.Clone(m.synced)
		for i, change := range m.pending {
			if subset>>i&1 == 1 {
				change(names)
			}
		}
		for _, spoilt := range spoils {
			left := newMemory(-1, nil)
			for name, c := range names {
				data := c.data
				if !c.synced {
					data = spoilt(data)
				}
				left.files[name] = &content{memory: left, data: data, synced: true}
			}
			left.synced = maps.Clone(left.files)
			disks = append(disks, left)
		}
	}
	return disks
}
