package durable

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A file of slots has two of them. Writes go to them by turns, so the newest content is in one and
// the content before it in the other. A slot is a row of sectors, and a write takes as many of them
// as it needs:
//
//	byte 0   CRC-32 of the rest of the sector (numbers are big-endian)
//	     4   how many bytes of content the sector has
//	     6   which sector of its slot it is, from 0
//	     7   1 if the write goes on in the next sector, else 0
//	     8   the number of the write, from 1; 0: a sector that was never used
//	    16   content, then zeros
//
// A disk may lose power within a write, and then has each sector as it was or as it was to become.
// Since sectors say whose they are, a write that was cut short is told from damage: its sectors are
// all good, and some are missing. It was never confirmed, and the other slot counts.
//
// Another layout has to be another file: this one says nothing of versions.
const (
	sectorSize    = 512 // no disk writes less at once
	headerSize    = 16
	sectorContent = sectorSize - headerSize
	slotSectors   = 64
	slotSize      = slotSectors * sectorSize
	slotsSize     = 2 * slotSize // of the file
)

// MaxSlot is how many bytes of content a slot has room for.
const MaxSlot = slotSectors * sectorContent

// DamagedError means that a file of slots is not as a loss of power can leave it.
type DamagedError struct{ Reason string }

func (e *DamagedError) Error() string { return e.Reason }

func damaged(format string, a ...any) error {
	return &DamagedError{fmt.Sprintf(format, a...)}
}

// slotOf is where the write with a number begins in the file.
func slotOf(number uint64) int64 { return int64(number%2) * slotSize }

// encodeSlot returns the sectors of a write. Content of no bytes has a sector, too.
func encodeSlot(number uint64, content []byte) []byte {
	var sectors []byte
	for more, index := true, 0; more; index++ {
		part := content[:min(len(content), sectorContent)]
		content = content[len(part):]
		more = len(content) > 0
		sectors = append(sectors, encodeSector(number, index, part, more)...)
	}
	return sectors
}

func encodeSector(number uint64, index int, content []byte, more bool) []byte {
	sector := make([]byte, sectorSize)
	binary.BigEndian.PutUint16(sector[4:], uint16(len(content))) //nolint:gosec // below sectorContent
	sector[6] = byte(index)                                      //nolint:gosec // below slotSectors
	if more {
		sector[7] = 1
	}
	binary.BigEndian.PutUint64(sector[8:], number)
	copy(sector[headerSize:], content)
	binary.BigEndian.PutUint32(sector, crc32.ChecksumIEEE(sector[4:]))
	return sector
}

// newFile returns a file whose first write has a content, and whose second slot was never used.
func newFile(content []byte) []byte {
	var file []byte
	for range 2 {
		for index := range slotSectors {
			file = append(file, encodeSector(0, index, nil, false)...)
		}
	}
	copy(file[slotOf(1):], encodeSlot(1, content))
	return file
}

// slot is what one slot of a file has.
type slot struct {
	number  uint64 // of the write that its first sector is of; 0: of none yet
	whole   bool   // all sectors of that write are there
	content []byte
}

// decodeSlot decodes the slot of all even numbers or of all odd ones.
func decodeSlot(parity uint64, sectors []byte) (s slot, err error) {
	for index := range slotSectors {
		number, part, more, err := decodeSector(index, sectors[index*sectorSize:][:sectorSize])
		if err == nil && number != 0 && number%2 != parity {
			err = damaged("it is of write %d", number)
		}
		if err != nil {
			return slot{}, fmt.Errorf("sector %d of slot %d: %w", index, parity, err)
		}
		if index == 0 {
			s.number = number
		}
		if number != s.number || number == 0 {
			return s, nil
		}
		s.content = append(s.content, part...)
		if !more {
			s.whole = true
			return s, nil
		}
	}
	return slot{}, damaged("write %d does not end in its slot", s.number)
}

func decodeSector(index int, sector []byte) (number uint64, content []byte, more bool, err error) {
	if binary.BigEndian.Uint32(sector) != crc32.ChecksumIEEE(sector[4:]) {
		return 0, nil, false, damaged("its checksum is wrong")
	}
	number = binary.BigEndian.Uint64(sector[8:])
	length := binary.BigEndian.Uint16(sector[4:])
	if length > sectorContent || int(sector[6]) != index || sector[7] > 1 {
		return 0, nil, false, damaged("its header is wrong")
	}
	return number, sector[headerSize:][:length], sector[7] == 1, nil
}

// newest returns the content of the newest write that is whole in a file of slots. Beside it stands
// the write before it, or what a loss of power has left of the one after it. The error is
// *DamagedError if it is otherwise: then the newest write may have been lost.
func newest(file []byte) (content []byte, err error) {
	if len(file) != slotsSize {
		return nil, damaged("it has %d bytes instead of %d", len(file), slotsSize)
	}
	var slots [2]slot
	for i := range slots {
		if slots[i], err = decodeSlot(uint64(i), file[i*slotSize:][:slotSize]); err != nil {
			return nil, err
		}
	}
	last, other := slots[0], slots[1]
	if !last.whole || other.whole && other.number > last.number {
		last, other = other, last
	}
	before := other.number == last.number-1
	cutShort := other.number == last.number+1 && !other.whole
	if !last.whole || !before && !cutShort {
		return nil, damaged("write %d stands beside write %d", slots[0].number, slots[1].number)
	}
	return last.content, nil
}
