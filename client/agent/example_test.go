package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/podesta-dev/podesta/client/agent"
)

// Ask before each piece of work, and act under the epoch of the permission.
func ExampleClient_MayAct() {
	sidecar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"name": "scheduler-2", "self": "scheduler-0",
			"epoch": 29353417113602, "mayAct": false}`)
	}))
	defer sidecar.Close()

	c := agent.Client{URL: sidecar.URL, HTTP: sidecar.Client()} // in a pod: agent.Client{}
	p, err := c.MayAct(context.Background())
	switch {
	case err != nil:
		fmt.Println("not now:", err)
	case p.Valid():
		fmt.Println("acting under", p.Epoch)
	default:
		fmt.Println("following", p.Coordinator, "under", p.Epoch)
	}
	// Output: following scheduler-2 under 27993600.2
}
