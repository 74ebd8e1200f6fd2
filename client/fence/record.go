package fence

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/podesta-dev/podesta/client/agent"
)

// A file is one line: a name and the version of the format, the epoch, and a checksum of both.
//
//	podesta-fence 1 epoch 42 checksum 7a769e40
const (
	format  = "podesta-fence"
	version = 1
)

func encode(epoch agent.Epoch) []byte {
	return seal(fmt.Sprintf("%s %d epoch %d", format, version, int64(epoch)))
}

// seal ends a line with its checksum. That is the same in every version.
func seal(line string) []byte {
	return fmt.Appendf(nil, "%s checksum %08x\n", line, crc32.ChecksumIEEE([]byte(line)))
}

// decode takes exactly what encode makes. Whatever else is in the file, this program did not write
// it, or it is damaged.
func decode(data []byte) (agent.Epoch, error) {
	line, _, _ := bytes.Cut(data, []byte(" checksum "))
	if !bytes.Equal(seal(string(line)), data) {
		return 0, unusable(errors.New("its checksum is missing or wrong"))
	}
	var found int
	if _, err := fmt.Sscanf(string(line), format+" %d ", &found); err == nil && found > version {
		return 0, fmt.Errorf("a newer version of this package wrote the file: it has version %d of "+
			"its format, and this program knows %d at most. Use that version again", found, version)
	}
	var number int64
	_, err := fmt.Sscanf(string(line), format+" 1 epoch %d", &number)
	epoch := agent.Epoch(number)
	if err != nil || epoch < 0 || epoch > MaxEpoch || !bytes.Equal(encode(epoch), data) {
		return 0, unusable(fmt.Errorf("it is no epoch: %.64q", line))
	}
	return epoch, nil
}

// unusable says what to do about a file that is damaged.
func unusable(err error) error {
	return fmt.Errorf("this is not the record of an epoch, or a damaged one: %w. "+
		"Restore it together with the data that it protects. If there is no copy, remove it, "+
		"and before anything else Admit an epoch that is not below any that the resource has seen",
		err)
}
