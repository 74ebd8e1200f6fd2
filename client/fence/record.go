package fence

import (
	"bytes"
	"fmt"
	"hash/crc32"
)

// recordFormat is the file's only line: a name and a version, the epoch, and a checksum of both.
const recordFormat = "podesta-fence 1 epoch %d"

func encode(epoch int64) []byte {
	line := fmt.Sprintf(recordFormat, epoch)
	return fmt.Appendf(nil, "%s checksum %08x\n", line, crc32.ChecksumIEEE([]byte(line)))
}

// decode takes exactly what encode makes: whatever else is in the file, somebody or something else wrote it.
func decode(data []byte) (int64, error) {
	var epoch int64
	if _, err := fmt.Sscanf(string(data), recordFormat, &epoch); err == nil && epoch >= 0 && epoch <= MaxEpoch &&
		bytes.Equal(data, encode(epoch)) {
		return epoch, nil
	}
	return 0, fmt.Errorf("this is no record of an epoch, or a damaged one: %.64q. "+
		"Restore it, or write a new one with an epoch that is not below any that the resource has seen", data)
}
