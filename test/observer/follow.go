package observer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Event names the coordinator that an agent follows, as the agent tells its app.
type Event struct {
	Coordinator string // empty: nobody
	Epoch       int64
	Electing    bool
}

// ErrNoEvent means that an agent has said what is no event.
var ErrNoEvent = errors.New("an event names a coordinator, or nobody")

// Follow reads the event stream of the agent at this address, and calls told with each event, until
// the stream ends. The error says why it ended; ErrNoEvent is the agent's mistake.
func Follow(ctx context.Context, address string, told func(Event)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/events",
		http.NoBody)
	if err != nil {
		return err
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for lines := bufio.NewReader(response.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err // a line without its end: the agent was killed within it
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var said struct {
			Name     *string
			Epoch    int64
			Electing bool
		}
		if err := json.Unmarshal([]byte(data), &said); err != nil || said.Name == nil {
			return fmt.Errorf("%q, which is no event: %w", data, errors.Join(err, ErrNoEvent))
		}
		told(Event{
			Coordinator: *said.Name,
			Epoch:       said.Epoch,
			Electing:    said.Electing,
		})
	}
}
