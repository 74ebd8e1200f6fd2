package podesta

import (
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/podesta-dev/podesta/client/agent"
)

// repeatAfter is how often the same failure is logged.
const repeatAfter = time.Minute

// failures logs why the agent permits nothing, or does so no longer. An operator whose pod has no
// agent would otherwise look like one that stands by.
type failures struct {
	log func(error)

	mu   sync.Mutex
	last string    // what was logged last
	at   time.Time // when
}

// reporting returns a copy of the client that logs its failures, unless it reports them already.
func reporting(client *agent.Client) *agent.Client {
	reports := *client
	if client.Report != nil {
		return &reports
	}
	f := &failures{log: func(err error) {
		klog.Background().WithName("podesta").Error(err,
			"this replica cannot lead: it asks its agent again")
	}}
	reports.Report = func(err error) { f.report(err, time.Now()) }
	return &reports
}

// report logs a failure, unless it has just logged the same one.
func (f *failures) report(err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if text := err.Error(); text != f.last || now.Sub(f.at) >= repeatAfter {
		f.last, f.at = text, now
		f.log(err)
	}
}
