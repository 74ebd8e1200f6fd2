package roster

import (
	"reflect"
	"slices"
	"testing"
)

// Every field of a roster has a digest, or one of the reasons that are named here for having none.
func TestEveryFieldOfARosterFileHasADigest(t *testing.T) {
	elsewhere := []string{
		"Namespace", "Group", // in the certificates
		"Generation",                                             // what differs within one is looked for
		"GroupUID", "LongestLease", "Signed", "Created", "Grace", // not in a file
		"AppHealth", "Address", // may differ
		"Processes", // its own fields below
	}
	r := Roster{Safety: Guarded, Rules: 1, Processes: []Process{{Name: "a"}, {Name: "b"}}}
	change := func(name string, field reflect.Value, changed func() Roster) {
		before := r.Digests()
		switch field.Kind() {
		case reflect.String:
			field.SetString("another")
		case reflect.Int32, reflect.Int64:
			field.SetInt(7)
		case reflect.Bool:
			field.SetBool(true)
		default:
			t.Fatalf("%s is a %s", name, field.Kind())
		}
		n := 0
		for i, d := range changed().Digests() {
			if d != before[i] {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s changes %d digests, want one", name, n)
		}
	}
	for i := range reflect.TypeFor[Roster]().NumField() {
		if name := reflect.TypeFor[Roster]().Field(i).Name; !slices.Contains(elsewhere, name) {
			c := r
			change(name, reflect.ValueOf(&c).Elem().Field(i), func() Roster { return c })
		}
	}
	for i := range reflect.TypeFor[Process]().NumField() {
		if name := reflect.TypeFor[Process]().Field(i).Name; !slices.Contains(elsewhere, name) {
			c := r
			c.Processes = slices.Clone(r.Processes)
			change(name, reflect.ValueOf(&c.Processes[1]).Elem().Field(i),
				func() Roster { return c })
		}
	}
}

func TestFilesThatAreTheSameToAGroup(t *testing.T) {
	parse := func(text string) Roster {
		r, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	bare := parse(`{"group": "g", "safety": "Classic", "processes": [{"name": "a"}, {"name": "b"}]}`)
	for text, same := range map[string]bool{
		`{"group": "g", "algorithm": "Bully", "safety": "Classic", "rules": 1, "generation": 1,
		"timing": {"profile": "Fast", "heartbeatMilliseconds": 100}, "processes": [{"name": "a", "uid": "a", "voter": true},
		{"name": "b", "priority": 1, "address": "192.0.2.1:4041"}]}`: true,
		`{"group": "g", "safety": "Classic", "appHealth": {"session": {}}, "processes": [{"name": "a"}, {"name": "b"}]}`: true,
		`{"group": "g", "safety": "Classic", "processes": [{"name": "b"}, {"name": "a"}]}`:                               false,
		`{"group": "g", "safety": "Classic", "processes": [{"name": "a"}, {"name": "b", "priority": 2}]}`:                false,
		`{"group": "g", "safety": "Classic", "generation": 2, "processes": [{"name": "a"}, {"name": "b"}]}`:              false,
		`{"group": "h", "safety": "Classic", "processes": [{"name": "a"}, {"name": "b"}]}`:                               false,
	} {
		if got := parse(text); (got.FileDigest() == bare.FileDigest()) != same {
			t.Errorf("%s: %s, the bare one has %s", text, got.FileDigest(), bare.FileDigest())
		}
	}
}
