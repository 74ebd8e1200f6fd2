package durabletest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Restarted returns the disk as the next process finds it after this one crashed: the system is
// still up, so nothing is lost, and nothing survives a loss of power that did not before. The lock
// is free, and no fault is due. The disk itself does not change.
func (d *Disk) Restarted() *Disk {
	return rebuilt(d.names, d.synced, d.pending, false)
}

// What AfterPowerLoss looks at, at most: so many changes of names that may be lost, each for
// itself, and for each choice of them so many combinations of what is left of the files.
const (
	mostPending = 6
	mostSpoilt  = 1 << 8
)

// sectorSize is what a loss of power leaves old or new, and never mixed.
const sectorSize = 512

// AfterPowerLoss returns the disks that a loss of power may leave, each different from the others.
// Any of the changes of names since the last Sync may be lost, each for itself; a file that was not
// synced may be empty, torn, full of zeros, or whole; where one was overwritten, each sector may be
// the old one or the new one. Of many changes, and of many sectors, only the newest six and the
// first six may be lost. The disk itself does not change.
func (d *Disk) AfterPowerLoss() []*Disk {
	var disks []*Disk
	seen := map[string]bool{}
	base := maps.Clone(d.synced)
	older := max(0, len(d.pending)-mostPending)
	for _, c := range d.pending[:older] {
		c.apply(base)
	}
	newest := d.pending[older:]
	for subset := range 1 << len(newest) {
		names := maps.Clone(base)
		for i, c := range newest {
			if subset>>i&1 == 1 {
				c.apply(names)
			}
		}
		for _, found := range spoilt(names) {
			if key := fingerprint(found); !seen[key] {
				seen[key] = true
				disks = append(disks, rebuilt(found, found, nil, true))
			}
		}
	}
	return disks
}

// spoilt returns all that files may hold of which not all were synced.
func spoilt(names map[string]*content) []map[string]*content {
	outcomes := []map[string]*content{names}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := names[name]
		if c.synced || len(c.data) == 0 || len(outcomes) >= mostSpoilt {
			continue
		}
		var more []map[string]*content
		for _, data := range c.spoilt() {
			for _, o := range outcomes {
				o = maps.Clone(o)
				o[name] = &content{data: data}
				more = append(more, o)
			}
		}
		outcomes = append(outcomes, more...)
	}
	return outcomes
}

// spoilt returns what may be left of content that was not synced, other than all of it.
func (c *content) spoilt() [][]byte {
	if c.before == nil {
		return [][]byte{nil, c.data[:len(c.data)/2], make([]byte, len(c.data))}
	}
	changed := c.changed()
	changed = changed[:min(len(changed), mostPending)]
	var all [][]byte
	for lost := 1; lost < 1<<len(changed); lost++ {
		data := slices.Clone(c.data)
		for i, at := range changed {
			if lost>>i&1 == 1 {
				copy(sector(data, at), sector(c.before, at))
			}
		}
		all = append(all, data)
	}
	return all
}

// changed returns where sectors begin that are not what is on the disk for sure.
func (c *content) changed() (all []int) {
	for at := 0; at < len(c.data); at += sectorSize {
		if !bytes.Equal(sector(c.data, at), sector(c.before, at)) {
			all = append(all, at)
		}
	}
	return all
}

// sector is the part of a file that begins at a place.
func sector(data []byte, at int) []byte { return data[at:min(at+sectorSize, len(data))] }

func fingerprint(names map[string]*content) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&b, "%q %d %s\n", name, len(names[name].data), names[name].data)
	}
	return b.String()
}

// rebuilt is a disk that shares nothing with the one that it is made from. Whole means that all
// content is on the disk for good: it was found there after a loss of power.
func rebuilt(names, synced map[string]*content, pending []change, whole bool) *Disk {
	copies := map[*content]*content{}
	again := func(c *content) *content {
		if c != nil && copies[c] == nil {
			copies[c] = &content{data: slices.Clone(c.data), synced: whole || c.synced}
			if !copies[c].synced {
				copies[c].before, copies[c].failed = slices.Clone(c.before), slices.Clone(c.failed)
			}
		}
		return copies[c]
	}
	d := New()
	for name, c := range names {
		d.names[name] = again(c)
	}
	for name, c := range synced {
		d.synced[name] = again(c)
	}
	for _, c := range pending {
		d.pending = append(d.pending, change{
			gone: c.gone,
			name: c.name,
			of:   again(c.of),
		})
	}
	return d
}
