package fence

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/internal/durable/record"
)

// format is the file's only line: a name and a version, the epoch, and a checksum.
//
//	podesta-fence 1 epoch 42 checksum 7a769e40
var format = record.Format{Name: "podesta-fence", Version: 1}

const field = "epoch "

func encode(epoch agent.Epoch) []byte {
	return format.Encode(strconv.AppendInt([]byte(field), int64(epoch), 10))
}

// decode takes exactly what encode makes. Whatever else is in the file, this program did not write
// it, or it is damaged.
func decode(data []byte) (agent.Epoch, error) {
	_, body, err := format.Decode(data)
	if newer := (*record.Newer)(nil); errors.As(err, &newer) {
		return 0, fmt.Errorf("a newer version of this package wrote the file: %w. "+
			"Use that version again", newer)
	}
	if err != nil {
		return 0, unusable(err)
	}
	text, ok := bytes.CutPrefix(body, []byte(field))
	number, err := strconv.ParseInt(string(text), 10, 64)
	epoch := agent.Epoch(number)
	if !ok || err != nil || epoch < 0 || epoch > MaxEpoch || !bytes.Equal(encode(epoch), data) {
		return 0, unusable(fmt.Errorf("its body is no epoch: %.64q", body))
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
