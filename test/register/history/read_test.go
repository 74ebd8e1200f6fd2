package history

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/test/register/writer"
)

// Lines of an agent's log: those about its lease are read, the others are not.
func TestReadLeases(t *testing.T) {
	got, err := ReadLeases(strings.NewReader(`time=2026-11-20T12:00:00Z level=INFO msg="elected a coordinator" epoch=3
time=2026-11-20T12:00:01Z level=INFO msg=lease state=holds epoch=7.2 incarnation=176 boottime=81234567890 deadline=82052749708
time=2026-11-20T12:00:02Z level=INFO msg=lease state=stops epoch=7.2 boottime=91234567890 told=0
time=2026-11-20T12:00:02Z level=INFO msg=lease state=releases epoch=7.2 boottime=91234567891
time=2026-11-20T12:00:03Z level=INFO msg=lease state=holds ep`), "g", "g-0")
	want := []Lease{
		{Group: "g", Process: "g-0", Incarnation: 176, State: Holds, Epoch: int64(lease.NewEpoch(7, 2)),
			At: 81234567890},
		{Group: "g", Process: "g-0", State: Stops, Epoch: int64(lease.NewEpoch(7, 2)), At: 91234567890},
		{Group: "g", Process: "g-0", State: Releases, Epoch: int64(lease.NewEpoch(7, 2)), At: 91234567891},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, bad := range []string{"x msg=lease state=holds epoch=5\n", "x msg=lease state=holds boottime=5\n", "x msg=lease epoch=5 boottime=81.2s\n",
		"x msg=lease epoch=5 boottime=81\n", "x msg=lease state=holds epoch=5 incarnation=-1 boottime=81\n",
		"x msg=lease state=grants epoch=5 boottime=81\n"} {
		if _, err := ReadLeases(strings.NewReader(bad), "g", "g-0"); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// A trace has one life after the other; what a SIGKILL cut off is no line, at its end or before the
// next life.
func TestReadTrace(t *testing.T) {
	got, err := ReadTrace(strings.NewReader(`{"kind":"started","at":10,"group":"g","process":"g-0","uid":"u","pid":7}
{"kind":"told","at":20,"epoch":5,"deadline":100}
{"kind":"stopped","at{"kind":"started","at":200,"group":"g","process":"g-0","uid":"u","pid":8}
{"kind":"stopped","at":210,"why":"ended"}
{"kind":"to`))
	want := []Life{
		{Group: "g", Process: "g-0", UID: "u", PID: 7, Begin: 10, Lines: []writer.Line{{Kind: writer.Told, At: 20, Epoch: 5, Deadline: 100}}},
		{Group: "g", Process: "g-0", UID: "u", PID: 8, Begin: 200, Lines: []writer.Line{{Kind: writer.Stopped, At: 210, Why: "ended"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, bad := range []string{"{\"kind\":\"told\",\"at\":20}\n", "told\n", "{\"kind\":\"started\",\"at\":1}\n{\"kind\":\"told\",\"at\n"} {
		if _, err := ReadTrace(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestReadEntries(t *testing.T) {
	entries, err := ReadEntries(strings.NewReader(`{"at":5,"group":"g","process":"g-0","uid":"u","epoch":7,"since":1,"heard":2,"checkedAt":3,"deadline":9,"accepted":true,"highest":7}` + "\n"))
	if err != nil || len(entries) != 1 || entries[0].Epoch != 7 || entries[0].Checked != 3 || !entries[0].Accepted || entries[0].Highest != 7 {
		t.Errorf("%+v, %v", entries, err)
	}
	if _, err := ReadEntries(strings.NewReader("{\"at\":\"noon\"}\n")); err == nil {
		t.Error("noon is no instant")
	}
}
