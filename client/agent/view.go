package agent

import (
	"encoding/json"
	"fmt"
	"time"
)

// View is whom a process follows, as its agent knows it. It permits nothing, and may name the
// previous coordinator. The zero View is that of a process that follows nobody.
type View struct {
	Coordinator string    // its name; empty while there is none
	Priority    int32     // the coordinator's priority
	Epoch       Epoch     // of its lease; 0 in Classic groups, which have no epochs
	Self        string    // this process
	Group       string    // its group; empty while the agent does not know it
	Safety      string    // of the group, Guarded or Classic; empty while the agent does not know it
	Electing    bool      // an election is under way
	Since       time.Time // when this process began to follow the coordinator; zero if it follows none
}

// viewJSON is the body of /v1/coordinator and of the events of /v1/events.
type viewJSON struct {
	Name     string    `json:"name"`
	Self     string    `json:"self"`
	Group    string    `json:"group"`
	Safety   string    `json:"safety"`
	Priority int32     `json:"priority"`
	Epoch    Epoch     `json:"epoch"`
	Electing bool      `json:"electing"`
	Since    time.Time `json:"since"`
}

func (v viewJSON) view() View {
	return View{
		Coordinator: v.Name,
		Priority:    v.Priority,
		Epoch:       v.Epoch,
		Self:        v.Self,
		Group:       v.Group,
		Safety:      v.Safety,
		Electing:    v.Electing,
		Since:       v.Since,
	}
}

// view parses an answer about the coordinator.
func view(data []byte) (View, error) {
	var v viewJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return View{}, fmt.Errorf("the agent's answer %.64q: %w", data, err)
	}
	return v.view(), nil
}
