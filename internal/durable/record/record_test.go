package record_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/durable/record"
)

var format = record.Format{Name: "podesta-test", Version: 2}

// The form itself, which every version of every file relies on.
func TestForm(t *testing.T) {
	const want = "podesta-test 2 a body checksum 265a298a\n"
	if got := string(format.Encode([]byte("a body"))); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEveryVersionIsRead(t *testing.T) {
	for _, body := range []string{
		"",
		"a body",
		" ",
		"lines\nof text checksum 00000000\n",
		"\x00\xff",
	} {
		for version := 1; version <= format.Version; version++ {
			data := record.Format{Name: format.Name, Version: version}.Encode([]byte(body))
			v, got, err := format.Decode(data)
			if v != version || string(got) != body || err != nil {
				t.Errorf("%q of version %d came back as %d, %q, %v", body, version, v, got, err)
			}
		}
	}
}

func TestANewerVersionIsCalledNewer(t *testing.T) {
	data := record.Format{Name: format.Name, Version: 3}.Encode([]byte("what is to come"))
	_, _, err := format.Decode(data)
	newer := (*record.Newer)(nil)
	if !errors.As(err, &newer) || newer.Version != 3 || newer.Known != 2 {
		t.Errorf("%v", err)
	}
	data = []byte(strings.Replace(string(format.Encode([]byte("a body"))), " 2 ", " 3 ", 1))
	_, _, err = format.Decode(data)
	if damaged := (*record.Damaged)(nil); !errors.As(err, &damaged) {
		t.Errorf("a version that is damage is taken for a newer program's: %v", err)
	}
}

func TestWhatIsNotARecord(t *testing.T) {
	good := string(format.Encode([]byte("a body")))
	named := func(name string, version int) string {
		return string(record.Format{Name: name, Version: version}.Encode([]byte("a body")))
	}
	for name, data := range map[string]string{
		"empty":              "",
		"zeros":              strings.Repeat("\x00", len(good)),
		"torn":               good[:len(good)/2],
		"without its end":    good[:len(good)-1],
		"a letter changed":   strings.Replace(good, "body", "bodY", 1),
		"something behind":   good + "\n",
		"something before":   " " + good,
		"twice":              good + good,
		"of another name":    named("podesta-other", 1),
		"of a longer name":   named("podesta-test-2", 1),
		"of version 0":       named("podesta-test", 0),
		"a negative version": named("podesta-test", -1),
		"no version":         named("podesta-test no", 1),
		"version 01":         named("podesta-test 01", 1),
		"a plain text":       "7\n",
		"a body only":        "{}",
	} {
		_, _, err := format.Decode([]byte(data))
		if damaged := (*record.Damaged)(nil); !errors.As(err, &damaged) || err.Error() == "" {
			t.Errorf("%s: %v, want damage", name, err)
		}
	}
}

type schema struct {
	Name   string `json:"name"`
	Number int64  `json:"number"`
}

func TestJSONIsStrict(t *testing.T) {
	got, err := record.DecodeJSON[schema]([]byte(`{"name":"a","number":1}`))
	if err != nil || got != (schema{"a", 1}) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, body := range map[string]string{
		"empty":             ``,
		"an unknown field":  `{"name":"a","number":1,"more":2}`,
		"a missing field":   `{"name":"a"}`,
		"a repeated field":  `{"name":"a","number":1,"number":1}`,
		"another order":     `{"number":1,"name":"a"}`,
		"a capital letter":  `{"Name":"a","number":1}`,
		"space":             `{"name":"a", "number":1}`,
		"something behind":  `{"name":"a","number":1}{}`,
		"null":              `null`,
		"another type":      `{"name":"a","number":"1"}`,
		"a fraction":        `{"name":"a","number":1.0}`,
		"too large":         `{"name":"a","number":9223372036854775808}`,
		"no UTF-8":          "{\"name\":\"\xff\",\"number\":1}",
		"a needless escape": `{"name":"\u0061","number":1}`,
	} {
		got, err := record.DecodeJSON[schema]([]byte(body))
		if damaged := (*record.Damaged)(nil); !errors.As(err, &damaged) {
			t.Errorf("%s was taken for %+v, %v", name, got, err)
		}
	}
}

func TestAnUnknownFieldIsNamed(t *testing.T) {
	_, err := record.DecodeJSON[schema]([]byte(`{"name":"a","number":1,"more":2}`))
	if err == nil || !strings.Contains(err.Error(), `unknown field "more"`) {
		t.Error(err)
	}
}

// FuzzDecode: what is taken for a record is exactly what Encode made.
func FuzzDecode(f *testing.F) {
	f.Add(format.Encode(nil))
	f.Add(format.Encode([]byte("a body")))
	f.Add([]byte("podesta-test 02 a body checksum 00000000\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		version, body, err := format.Decode(data)
		if err != nil {
			return
		}
		again := record.Format{Name: format.Name, Version: version}.Encode(body)
		if string(again) != string(data) || version < 1 || version > format.Version {
			t.Fatalf("%q was taken for version %d of %q", data, version, body)
		}
	})
}

// FuzzDamage: a record comes back as it was, and with any byte changed it does not come back.
func FuzzDamage(f *testing.F) {
	f.Add([]byte("a body"), uint(10), byte(1))
	f.Fuzz(func(t *testing.T, body []byte, at uint, flip byte) {
		data := format.Encode(body)
		if _, got, err := format.Decode(data); string(got) != string(body) || err != nil {
			t.Fatalf("%q came back as %q, %v", body, got, err)
		}
		if flip == 0 {
			return
		}
		data[at%uint(len(data))] ^= flip
		if _, got, err := format.Decode(data); err == nil {
			t.Fatalf("%q, damaged, was taken for %q", body, got)
		}
	})
}

// FuzzDecodeJSON: what is taken is exactly what EncodeJSON made.
func FuzzDecodeJSON(f *testing.F) {
	f.Add([]byte(`{"name":"a","number":1}`))
	f.Add([]byte(`{"name":"\u003c","number":-1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := record.DecodeJSON[schema](body)
		if err != nil {
			return
		}
		if again, err := record.EncodeJSON(v); err != nil || string(again) != string(body) {
			t.Fatalf("%q was taken for %+v, which is %q, %v", body, v, again, err)
		}
	})
}
