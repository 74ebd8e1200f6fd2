package process

import (
	"bytes"
	"io"
	"os"
)

// longestLine is how many bytes of a log's last line are told.
const longestLine = 500

// lastLine is the last line of a log that is not empty, its end if it is long.
func lastLine(path string) string {
	log, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = log.Close() }() // it was only read
	if end, err := log.Seek(0, io.SeekEnd); err == nil {
		_, _ = log.Seek(max(0, end-longestLine), io.SeekStart)
	}
	tail, err := io.ReadAll(io.LimitReader(log, longestLine))
	if err != nil {
		return err.Error()
	}
	tail = bytes.TrimSpace(tail)
	return string(tail[bytes.LastIndexByte(tail, '\n')+1:])
}
