// Package record is the form of small files that must not be misread: one line of text with a name,
// a version, a body, and a checksum of all three.
//
//	podesta-incarnation 1 1800000000000 checksum ee3e9e66
//
// Decode takes exactly what Encode makes. Whatever else is in a file is an error (Damaged, or Newer
// if a newer program wrote it), so that a damaged file is never taken for another content. The form
// is the same in every version; only the body's meaning changes.
//
// What is not promised: the checksum finds damage, not malice; and a record says nothing about its
// age, so an old copy of a file is a valid one.
package record

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strconv"
)

// Format is a kind of record.
type Format struct {
	Name    string // in the file; without spaces
	Version int    // that Encode writes, and the newest that Decode takes; from 1
}

// Damaged is the error about content that no version of the format has.
type Damaged struct{ Reason string }

func (e *Damaged) Error() string { return e.Reason }

// Newer is the error about an undamaged record of a version that this program does not know.
type Newer struct{ Version, Known int }

func (e *Newer) Error() string {
	return fmt.Sprintf("it has version %d of its format, and this program knows %d at most",
		e.Version, e.Known)
}

// Encode returns the record of a body.
func (f Format) Encode(body []byte) []byte {
	line := fmt.Appendf(nil, "%s %d %s", f.Name, f.Version, body)
	return append(line, checksum(line)...)
}

// checksum ends a record.
func checksum(line []byte) []byte {
	return fmt.Appendf(nil, " checksum %08x\n", crc32.ChecksumIEEE(line))
}

// Decode returns the version and the body of a record. The error is a *Damaged or a *Newer.
func (f Format) Decode(data []byte) (version int, body []byte, err error) {
	if len(data) == 0 {
		return 0, nil, &Damaged{"it is empty"}
	}
	line := data[:max(0, len(data)-len(checksum(nil)))]
	if !bytes.Equal(data[len(line):], checksum(line)) {
		return 0, nil, &Damaged{"its checksum is missing or wrong"}
	}
	rest, ok := bytes.CutPrefix(line, []byte(f.Name+" "))
	if !ok {
		return 0, nil, &Damaged{fmt.Sprintf("it does not begin with %q", f.Name)}
	}
	number, body, ok := bytes.Cut(rest, []byte(" "))
	version, err = strconv.Atoi(string(number))
	if !ok || err != nil || version < 1 || strconv.Itoa(version) != string(number) {
		return 0, nil, &Damaged{"it has no version"}
	}
	if version > f.Version {
		return 0, nil, &Newer{Version: version, Known: f.Version}
	}
	return version, body, nil
}
