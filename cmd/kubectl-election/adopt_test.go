package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

func TestAdoption(t *testing.T) {
	for name, c := range map[string]struct {
		status  v1.ElectionGroupStatus
		useIt   bool // --status
		want    v1.AdoptRequest
		says    string
		refused string
	}{
		"all is well": {refused: "was not set back"},
		"what agents hold": {
			status: v1.ElectionGroupStatus{
				Roster:  &v1.RosterStatus{Generation: 5},
				SetBack: &v1.SetBackStatus{Newest: 12, Held: 10},
			},
			want: v1.AdoptRequest{Generation: 10, Newest: 12},
			says: "holds the roster of generation 5; agents report generation 12.\nFrom now on the " +
				"roster of generation 10, which an agent has shown, counts.",
		},
		"what is in the status": {
			status: v1.ElectionGroupStatus{
				Roster:  &v1.RosterStatus{Generation: 5},
				SetBack: &v1.SetBackStatus{Newest: 12, Held: 10},
			},
			useIt: true,
			want:  v1.AdoptRequest{Generation: 5, Newest: 12},
			says:  "From now on what is in the status counts.",
		},
		"nothing is in the status": {
			status: v1.ElectionGroupStatus{SetBack: &v1.SetBackStatus{Newest: 12}},
			useIt:  true,
			want:   v1.AdoptRequest{Newest: 12},
			says:   "holds no roster; agents report generation 12.\nFrom now on what is in the status counts.",
		},
		"no agent has shown one": {
			status:  v1.ElectionGroupStatus{SetBack: &v1.SetBackStatus{Newest: 12}},
			refused: "use --status",
		},
	} {
		g := &v1.ElectionGroup{Status: c.status}
		got, err := adoptionOf(g, c.useIt)
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want an error that says %q", name, err, c.refused)
			}
			continue
		}
		var out bytes.Buffer
		explainAdoption(&out, g, got)
		if err != nil || got != c.want || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: %+v, %v\n%s", name, got, err, &out)
		}
	}
}

// setBack is a group whose status was set back.
func setBack(held, newest int64) *v1.ElectionGroup {
	return &v1.ElectionGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "scheduler", UID: "uid"},
		Status: v1.ElectionGroupStatus{
			Roster:  &v1.RosterStatus{Generation: 5},
			SetBack: &v1.SetBackStatus{Newest: newest, Held: held},
		},
	}
}

// Agents may show another roster while a person thinks: then nothing is asked for.
func TestAdoptsWhatWasShown(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		then *v1.ElectionGroup // what the group is like after the confirmation
		says string            // empty: the request is made
	}{
		"another roster":           {"adopt", setBack(12, 12), "has changed"},
		"a newer generation":       {"adopt --status", setBack(10, 14), "has changed"},
		"not set back any more":    {"adopt --status", setBack(0, 0), "was not set back"},
		"as before":                {"adopt", setBack(10, 12), ""},
		"with --status, as before": {"adopt --status", setBack(10, 12), ""},
		"shown by another agent":   {"adopt --status", setBack(11, 12), ""},
	} {
		if c.then.Status.SetBack.Newest == 0 {
			c.then.Status.SetBack = nil
		}
		read, patched := 0, false
		in := around(fakeCluster(t, interceptor.Funcs{
			Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, into client.Object,
				_ ...client.GetOption) error {
				group := setBack(10, 12)
				if read++; read > 1 {
					group = c.then
				}
				group.DeepCopyInto(into.(*v1.ElectionGroup))
				return nil
			},
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch,
				...client.PatchOption) error {
				patched = true
				return context.DeadlineExceeded // what comes after that is another test
			},
		}))
		_, _, err := runIn(t.Context(), in, c.line+" scheduler -n shop --yes")
		if patched != (c.says == "") || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: made: %t, %v", name, patched, err)
		}
	}
}

// What is waited for after that is what the request says, as long as it can come.
func TestAdopted(t *testing.T) {
	asked := v1.AdoptRequest{Generation: 10, Newest: 12}
	done := setBack(10, 12)
	done.Status.SetBack = nil
	replaced := setBack(10, 12)
	replaced.UID = "another"
	for name, c := range map[string]struct {
		group      *v1.ElectionGroup
		status     bool
		done, ends bool
	}{
		"nothing yet":                    {setBack(10, 12), false, false, false},
		"done":                           {done, false, true, false},
		"a newer generation":             {setBack(10, 13), false, false, true},
		"another roster is shown":        {setBack(12, 12), false, false, true},
		"which is nothing to --status":   {setBack(12, 12), true, false, false},
		"the group was deleted and made": {replaced, false, false, true},
	} {
		got, err := adopted(c.group, "uid", c.status, asked)
		if got != c.done || (err != nil) != c.ends {
			t.Errorf("%s: done: %t, %v", name, got, err)
		}
	}
}
