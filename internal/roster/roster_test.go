package roster

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

func TestFileWithDefaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "roster.json")
	must(t, os.WriteFile(path, []byte(`{"group":"lab","processes":[{"name":"p1","address":"127.0.0.1:4041","stateID":"m-1"},{"name":"p2","priority":0,"voter":false}]}`), 0o600))
	got, err := ReadFile(path)
	must(t, err)
	want := Roster{
		Namespace:  "default",
		Group:      "lab",
		Generation: 1,
		Algorithm:  "Bully",
		Safety:     "Guarded",
		Heartbeat:  100 * time.Millisecond,
		Timeout:    500 * time.Millisecond,
		Lease:      time.Second,

		LeaseMinimum: 450 * time.Millisecond, // profile Balanced

		Preemption: Delayed,
		Stable:     5 * time.Second,
		Processes: []Process{
			{
				Name:     "p1",
				UID:      "p1",
				Address:  "127.0.0.1:4041",
				Priority: 1,
				Voter:    true,
				StateID:  "m-1",
			}, {Name: "p2", UID: "p2"}},
	}
	if !got.Equal(want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if again, err := Parse(got.Encode()); err != nil || !again.Equal(got) {
		t.Errorf("encoded and parsed: %+v, %v", again, err)
	}
}

func TestGuardedFile(t *testing.T) {
	got, err := Parse([]byte(`{"group":"lab","safety":"Guarded","timing":{"leaseMaximumMilliseconds":2000},"preemption":{"policy":"Never"},
		"processes":[{"name":"p1","stateID":"m-1"}]}`))
	must(t, err)
	want := Roster{
		Namespace:  "default",
		Group:      "lab",
		Generation: 1,
		Algorithm:  "Bully",
		Safety:     Guarded,
		Heartbeat:  100 * time.Millisecond,
		Timeout:    500 * time.Millisecond,
		Lease:      2 * time.Second,
		Preemption: Never,
		Processes:  []Process{{Name: "p1", UID: "p1", Priority: 1, Voter: true, StateID: "m-1"}},

		LeaseMinimum: 450 * time.Millisecond,
	}
	if !got.Equal(want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if again, err := Parse(got.Encode()); err != nil || !again.Equal(got) {
		t.Errorf("encoded and parsed: %+v, %v", again, err)
	}
}

// A file names a profile, Balanced unless it does, and overrides single fields of it. A Classic group
// has no leases.
func TestTimingOfAFile(t *testing.T) {
	ms := func(heartbeat, timeout, longest, shortest time.Duration) Roster {
		return Roster{
			Heartbeat:    heartbeat * time.Millisecond,
			Timeout:      timeout * time.Millisecond,
			Lease:        longest * time.Millisecond,
			LeaseMinimum: shortest * time.Millisecond,
		}
	}
	for settings, want := range map[string]Roster{
		`"safety":"Guarded"`:                                        ms(100, 500, 1000, 450),
		`"timing":{"profile":"Fast"}`:                               ms(100, 500, 1000, 100),
		`"timing":{"profile":"Patient"}`:                            ms(500, 2500, 5000, 3000),
		`"timing":{"profile":"Fast","heartbeatMilliseconds":20}`:    ms(20, 500, 1000, 100),
		`"timing":{"leaseMinimumMilliseconds":1000}`:                ms(100, 500, 1000, 1000),
		`"safety":"Classic"`:                                        ms(100, 500, 0, 0),
		`"safety":"Classic","timing":{"heartbeatMilliseconds":250}`: ms(250, 500, 0, 0),
	} {
		r, err := Parse([]byte(`{"group":"lab",` + settings + `}`))
		must(t, err)
		if r.Heartbeat != want.Heartbeat || r.Timeout != want.Timeout ||
			r.Lease != want.Lease || r.LeaseMinimum != want.LeaseMinimum {
			t.Errorf("%s: %+v, want %+v", settings, r, want)
		}
	}
}

func TestEqualLooksAtEveryField(t *testing.T) {
	for name, change := range map[string]func(*Roster){
		"group UID":  func(r *Roster) { r.GroupUID = "other" },
		"safety":     func(r *Roster) { r.Safety = Guarded },
		"lease":      func(r *Roster) { r.Lease++ },
		"preemption": func(r *Roster) { r.Preemption = Never },
		"stable":     func(r *Roster) { r.Stable++ },
		"state ID":   func(r *Roster) { r.Processes[0].StateID = "other" },
		"voter":      func(r *Roster) { r.Processes[0].Voter = false },
		"app health": func(r *Roster) { r.AppHealth.Port++ },
	} {
		changed := sample(1)
		if change(&changed); changed.Equal(sample(1)) {
			t.Errorf("another %s makes no difference", name)
		}
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ json, says string }{
		"no JSON":            {`group: lab`, "invalid character"},
		"unknown field":      {`{"group":"lab","quorum":3}`, "quorum"},
		"two objects":        {`{"group":"lab"}{}`, "unexpected data after the roster"},
		"no group":           {`{}`, "group"},
		"a group in capital": {`{"group":"Lab"}`, "lower case"},
		"generation 0":       {`{"group":"lab","generation":0}`, "generation"},
		"short timeout":      {`{"group":"lab","safety":"Classic","timing":{"heartbeatMilliseconds":300,"timeoutMilliseconds":500}}`, "two heartbeats"},
		"overflow": {
			`{"group":"lab","timing":{"timeoutMilliseconds":9223372036854775807}}`,
			"between 0 and",
		},
		"safety":         {`{"group":"lab","safety":"Safe"}`, "must be Classic or Guarded"},
		"generation 2³³": {`{"group":"lab","generation":8589934592}`, "generation"},
		"long lease":     {`{"group":"lab","timing":{"leaseMaximumMilliseconds":600001}}`, "between 0 and 600000"},
		"negative lease": {`{"group":"lab","timing":{"leaseMaximumMilliseconds":-1}}`, "leaseMaximumMilliseconds"},
		"short lease": {
			`{"group":"lab","timing":{"heartbeatMilliseconds":100,"leaseMaximumMilliseconds":399,"leaseMinimumMilliseconds":100}}`,
			"4 heartbeats (400ms)",
		},
		"profile": {
			`{"group":"lab","timing":{"profile":"Slow"}}`,
			`timing.profile "Slow": must be Fast, Balanced or Patient`,
		},
		"what does not fit the profile": {
			`{"group":"lab","timing":{"leaseMaximumMilliseconds":400}}`,
			"timing.leaseMinimumMilliseconds of profile Balanced is 450, and must be at most " +
				"timing.leaseMaximumMilliseconds: set timing.leaseMinimumMilliseconds",
		},
		"a timing outside timing": {`{"group":"lab","leaseMaximumMilliseconds":400}`, "unknown field"},
		"preemption": {
			`{"group":"lab","preemption":{"policy":"Sometimes"}}`,
			"must be Always, Delayed or Never",
		},
		"no preemption": {
			`{"group":"lab","safety":"Guarded","preemption":{"policy":""}}`,
			"must be Always",
		},
		"long stable":   {`{"group":"lab","preemption":{"stableSeconds":3601}}`, "between 0 and 3600"},
		"stable Never":  {`{"group":"lab","preemption":{"policy":"Never","stableSeconds":5}}`, "preemption.stableSeconds requires policy Delayed, not Never"},
		"unknown in it": {`{"group":"lab","preemption":{"stable":1}}`, "stable"},
		"state ID":      {`{"group":"lab","safety":"Classic","processes":[{"name":"a","stateID":"a b"}]}`, "state ID"},
		"voter without a state ID": {
			`{"group":"lab","safety":"Guarded","processes":[{"name":"a","stateID":"s"},{"name":"b"}]}`,
			"b votes",
		},
		"twice": {`{"group":"lab","safety":"Classic","processes":[{"name":"a"},{"name":"a"}]}`, "twice"},
		"priority": {
			`{"group":"lab","safety":"Classic","processes":[{"name":"a","priority":1000001}]}`,
			"between 0 and 1000000",
		},
		"address": {
			`{"group":"lab","safety":"Classic","processes":[{"name":"a","address":"localhost"}]}`,
			"HOST:PORT",
		},
		"uid": {`{"group":"lab","safety":"Classic","processes":[{"name":"a","uid":"a/b"}]}`, "uid"},
		"too many": {
			`{"group":"lab","safety":"Classic","processes":[` + strings.Repeat(`{"name":"a"},`,
				100) + `{"name":"a"}]}`,
			"at most 100",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(test.json)); err == nil ||
				!strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an error with %q", err, test.says)
			}
		})
	}
}

func TestRosterSurvivesTheWire(t *testing.T) {
	got, err := rosterFromWire(rosterToWire(sample(3)))
	must(t, err)
	if !got.Equal(sample(3)) {
		t.Errorf("got %+v, want %+v", got, sample(3))
	}
	levelled := sample(3)
	levelled.Rules = 7
	if got, err = rosterFromWire(rosterToWire(levelled)); err != nil || !got.Equal(levelled) || got.Equal(sample(3)) {
		t.Errorf("got %+v, want %+v: %v", got, levelled, err)
	}
	if got, err = Parse(levelled.Encode()); err != nil || got.Rules != 7 {
		t.Errorf("a file: got %+v, %v", got, err)
	}
	if levelled.Rules = 1001; levelled.Validate() == nil {
		t.Error("rules level 1001 is valid")
	}
}

func TestReportsThatAreRefused(t *testing.T) {
	for says, r := range map[string]Report{
		"state ID":                 {StateID: "a b"},
		"group UID":                {GroupUID: "a b"},
		"rules level -1":           {Rules: -1},
		"rules level 1001":         {Rules: 1001},
		"epoch -1":                 {Epoch: -1},
		"epoch 9007199254740992":   {Epoch: 1 << 53},
		"election's epoch -1":      {LastElection: &Election{Epoch: -1}},
		"election's epoch 9007":    {LastElection: &Election{Epoch: 1 << 53}},
		"lease state has 65 bytes": {LeaseState: strings.Repeat("x", 65)},
		"candidate has 65 bytes":   {NotCandidate: strings.Repeat("x", 65)},
	} {
		if _, err := reportFromWire(reportToWire(r)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want an error with %q", err, says)
		}
	}
	newer := Report{
		Epoch:        1<<53 - 1,
		LeaseState:   "AWordOfANewerAgent",
		NotCandidate: "AReasonOfANewerAgent",
		Rules:        1000,
	}
	if got, err := reportFromWire(reportToWire(newer)); err != nil || got.Epoch != newer.Epoch ||
		got.LeaseState != newer.LeaseState || got.Rules != newer.Rules || got.NotCandidate != newer.NotCandidate {
		t.Errorf("got %+v, %v, want %+v", got, err, newer)
	}
}

func FuzzReport(f *testing.F) {
	seed, err := proto.Marshal(reportToWire(Report{
		StateID:      "m",
		GroupUID:     "g",
		Epoch:        7,
		LeaseState:   LeaseHolding,
		Table:        []Row{{Name: "a", State: Normal}},
		LastElection: &Election{Sent: 1, Epoch: 7},
	}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		var wire rosterpb.Report
		if proto.Unmarshal(data, &wire) != nil {
			return
		}
		r, err := reportFromWire(&wire)
		if err != nil {
			return
		}
		again, err := reportFromWire(reportToWire(r))
		if err != nil || !reflect.DeepEqual(r, again) {
			t.Errorf("accepted %+v, but read back %+v (%v)", r, again, err)
		}
	})
}

func FuzzRosterFile(f *testing.F) {
	f.Add(sample(1).Encode())
	f.Add([]byte(`{"group":"lab"}`))
	f.Add([]byte(`{"group":"lab","safety":"Guarded","preemption":{"policy":"Always","stableSeconds":0}}`))
	f.Add([]byte(`{"group":"lab","appHealth":{"grpc":{"port":9090,"service":"shop"},"timeoutSeconds":7}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			return
		}
		again, err := Parse(r.Encode())
		if err != nil || !again.Equal(r) {
			t.Errorf("accepted %+v, but read back %+v (%v)", r, again, err)
		}
	})
}

func FuzzRoster(f *testing.F) {
	guarded := sample(1)
	guarded.Safety = Guarded
	asked := sample(1)
	asked.AppHealth = AppHealth{HTTPGet, 8080, "/healthz", "", time.Second, time.Second, 2, 10}
	for _, r := range []Roster{sample(1), guarded, asked} {
		seed, err := proto.Marshal(rosterToWire(r))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var wire rosterpb.Roster
		if proto.Unmarshal(data, &wire) != nil {
			return
		}
		r, err := rosterFromWire(&wire)
		if err != nil {
			return
		}
		again, err := rosterFromWire(rosterToWire(r))
		if err != nil || !again.Equal(r) {
			t.Errorf("accepted %+v, but read back %+v (%v)", r, again, err)
		}
	})
}

// A decision that the status may show is an election's: nobody gets a text of his own into it.
func TestWhichDecisionsNameAnElection(t *testing.T) {
	long := strings.Repeat("n", 253)
	for decision, want := range map[string]bool{
		"scheduler-4/1795266000/7":           true,
		"a.b/0/0":                            true,
		long + "/1/18446744073709551615":     true,
		long + "n/1/1":                       false,
		"":                                   false,
		"/0/0":                               false, // there was no announcement
		"scheduler-4":                        false,
		"scheduler-4/1":                      false,
		"scheduler-4/1/7/7":                  false,
		"scheduler-4/-1/7":                   false,
		"scheduler-4/01/7":                   false,
		"scheduler-4/1/+7":                   false,
		"scheduler-4/1/18446744073709551616": false,
		"Scheduler/1/7":                      false,
		"\x1b[31m/1/7":                       false,
	} {
		if got := (Election{Decision: decision}).IsNamed(); got != want {
			t.Errorf("%q: %t, want %t", decision, got, want)
		}
	}
}
