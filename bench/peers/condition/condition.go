// Package condition makes life hard for members: for all systems alike, and at the same time.
package condition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/proxy"
)

// Condition is what the members have to live with.
type Condition struct {
	Name string
	// Loops is how many processes do nothing but use the CPU.
	Loops int
	// Quota has each member, with all its processes, in a cgroup that may run for 10 ms of 100 ms.
	Quota bool
	// SlowDisk has fsync and fdatasync take 200 ms.
	SlowDisk bool
	// Servers has etcd and an API server run beside the members, for the systems that need them.
	Servers bool
	// Weather is that of the network between members.
	Weather proxy.Weather
	// Meaning is what a reader needs to know.
	Meaning string
}

// All are the conditions, in the order of reports.
var All = []Condition{
	{Name: "quiet", Meaning: "nothing but the systems and what measures them"},
	{
		Name:    "servers",
		Servers: true,
		Meaning: "and etcd and kube-apiserver, for the systems that need one of them; neither is struck",
	},
	{Name: "loops-4", Loops: 4, Meaning: "and 4 busy loops"},
	{Name: "loops-16", Loops: 16, Meaning: "and 16 busy loops"},
	{Name: "loops-32", Loops: 32, Meaning: "and 32 busy loops"},
	{Name: "quota", Quota: true, Meaning: "each member in a cgroup that may run for 10 ms of 100 ms"},
	{Name: "slow-disk", SlowDisk: true, Meaning: "each fsync and fdatasync takes 200 ms longer"},
	{
		Name: "lossy", Weather: proxy.Weather{
			Jitter: 50 * time.Millisecond,
			Stalls: 0.01,
			Stall:  200 * time.Millisecond,
		},
		Meaning: "between members, each piece of data is 0 to 50 ms late, and one of 100 pieces 200 ms " +
			"more, as if it had been sent again",
	},
}

// Find returns the condition of a name.
func Find(name string) (Condition, error) {
	i := slices.IndexFunc(All, func(c Condition) bool { return c.Name == name })
	if i < 0 {
		return Condition{}, fmt.Errorf("no condition is named %q: there are %s", name,
			strings.Join(Names(), ", "))
	}
	return All[i], nil
}

// Names are the names of all conditions.
func Names() []string {
	names := make([]string, len(All))
	for i, c := range All {
		names[i] = c.Name
	}
	return names
}
