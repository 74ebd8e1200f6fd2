package statedir

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/durable/record"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// The goldens are what agents have written, so they are never made anew. A change that fails this
// test is a new version of the format, with goldens of its own in testdata beside these, and the
// agent goes on reading these.
func TestGoldensOfVersion1(t *testing.T) {
	check(t, "v1/id", "N4JHXEVQ7SWKBMC2TZAGODUFYI", encodeID, decodeID)
	check(t, "v1/incarnation", 1_800_000_000_000, encodeIncarnation, decodeIncarnation)
	check(t, "v1/lease-of-no-voter", lease.State{}, must(t, encodeLease), decodeLease)
	check(t, "v1/lease", lease.State{
		Group:      "0b7a2c1e-5d4f-4c1b-9a58-0f0c6c7f0a11",
		Generation: 1_763_700_000,
		Voted:      true,
		Highest:    lease.NewEpoch(1_763_700_000, 3),
		To: lease.Incarnation{
			Name:    "scheduler-2",
			UID:     "6f1f7a52-7f0e-4d0e-8a39-5f0f4d3f2b10",
			StateID: "N4JHXEVQ7SWKBMC2TZAGODUFYI",
			Number:  1_800_000_000_000,
		},
		Lease: 1500 * time.Millisecond,
	}, must(t, encodeLease), decodeLease)
	check(t, "v1/lease-of-three-groups", lease.State{
		Group:      "0b7a2c1e-5d4f-4c1b-9a58-0f0c6c7f0a11",
		Generation: 1_763_700_000,
		Earlier: &lease.Earlier{
			Group:      "2f8e7a90-1c5b-4f1d-8e2a-7b6c5d4e3f21",
			Generation: 1_763_600_000,
			Highest:    lease.NewEpoch(1_763_600_000, 1),
			Next: &lease.Earlier{
				Group:      "c3d2e1f0-9a8b-4c7d-b6e5-f4a3b2c1d031",
				Generation: 1_763_500_000,
			},
		},
	}, must(t, encodeLease), decodeLease)
	check(t, "v1/asked", Asked{
		BootID: "3f1c2a9e-5b7d-4e60-8a41-9c0d2e3f4a5b",
		Boot:   90 * time.Minute,
	}, must(t, encodeAsked), decodeAsked)
	pointer := must(t, encodeRoster)
	encode := func(r roster.Roster) []byte { return pointer(&r) }
	check(t, "v1/roster-classic", roster.Roster{
		Namespace:  "shop",
		Group:      "scheduler",
		Generation: 1,
		Algorithm:  "Bully",
		Safety:     roster.Classic,
		Heartbeat:  100 * time.Millisecond,
		Timeout:    500 * time.Millisecond,
	}, encode, decodeRoster)
	check(t, "v1/roster-guarded", roster.Roster{
		Namespace:    "shop",
		Group:        "scheduler",
		GroupUID:     "0b7a2c1e-5d4f-4c1b-9a58-0f0c6c7f0a11",
		Generation:   1_763_700_000,
		Algorithm:    "ChangRoberts",
		Safety:       roster.Guarded,
		Heartbeat:    100 * time.Millisecond,
		Timeout:      500 * time.Millisecond,
		Lease:        1500 * time.Millisecond,
		LeaseMinimum: 100 * time.Millisecond,
		LongestLease: 2 * time.Second,
		Rules:        2,
		Preemption:   roster.Delayed,
		Stable:       5 * time.Second,
		AppHealth: roster.AppHealth{
			Handler:          roster.HTTPGet,
			Port:             8080,
			Path:             "/healthz?full=1&quiet=1",
			Period:           time.Second,
			Timeout:          2 * time.Second,
			FailureThreshold: 2,
			SuccessThreshold: 10,
		},
		Processes: []roster.Process{
			{
				Name:     "scheduler-0",
				UID:      "9d1c2b7e-0c3a-4e55-8f43-1d2e3f405162",
				Address:  "10.0.0.7:4041",
				Priority: 1,
				Voter:    true,
				StateID:  "A2B3C4D5E6F7A2B3C4D5E6F7A2",
			},
			{
				Name:     "scheduler-2",
				UID:      "6f1f7a52-7f0e-4d0e-8a39-5f0f4d3f2b10",
				Priority: 100,
			},
		},
		Signed: []byte("as the manager signed it"),
	}, encode, decodeRoster)
}

func check[T any](t *testing.T, name string, value T,
	encode func(T) []byte, decode func([]byte) (T, error),
) {
	t.Helper()
	golden, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if got := encode(value); string(got) != string(golden) {
		t.Errorf("%s is written as\n%swant\n%s", name, got, golden)
	}
	if got, err := decode(golden); err != nil || !reflect.DeepEqual(got, value) {
		t.Errorf("%s is read as %+v, %v; want %+v", name, got, err, value)
	}
}

func must[T any](t *testing.T, encode func(T) ([]byte, error)) func(T) []byte {
	return func(v T) []byte {
		t.Helper()
		data, err := encode(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
}

// A record that no agent writes is damage, whatever its checksum says.
func TestAStateThatNoAgentWrites(t *testing.T) {
	for name, change := range map[string]func(*leaseV1){
		"":                          func(*leaseV1) {},
		"a negative generation":     func(v *leaseV1) { v.Generation = -1 },
		"a negative epoch":          func(v *leaseV1) { v.HighestEpoch = -1 },
		"a negative lease":          func(v *leaseV1) { v.LeaseNanoseconds = -1 },
		"no list":                   func(v *leaseV1) { v.Earlier = nil },
		"the group itself":          func(v *leaseV1) { v.Earlier[0].Group = v.Group },
		"a group twice":             func(v *leaseV1) { v.Earlier[0].Group = v.Earlier[1].Group },
		"a group before generation": func(v *leaseV1) { v.Earlier[0].Generation = -1 },
		"a group's negative epoch":  func(v *leaseV1) { v.Earlier[0].HighestEpoch = -1 },
		"too many groups":           func(v *leaseV1) { v.Earlier = make([]earlierV1, lease.MaxGroups+1) },
	} {
		v := leaseV1{Group: "g", Earlier: []earlierV1{{Group: "h"}, {Group: "i"}}}
		change(&v)
		body, err := record.EncodeJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		_, err = decodeLease(leaseFormat.Encode(body))
		if _, damaged := errors.AsType[*record.Damaged](err); damaged != (name != "") {
			t.Errorf("with %s: %v", name, err)
		}
	}
}

// A field that somebody adds to lease.State or to roster.Roster is in the schema, or this fails.
func TestNoFieldIsForgotten(t *testing.T) {
	var s lease.State
	fill(t, reflect.ValueOf(&s).Elem())
	data := must(t, encodeLease)(s)
	if got, err := decodeLease(data); err != nil || !got.Equal(s) {
		t.Errorf("saved %+v, loaded %+v, %v", s, got, err)
	}
	var r roster.Roster
	fill(t, reflect.ValueOf(&r).Elem())
	if got := rosterV1Of(r).roster(); !reflect.DeepEqual(got, r) {
		t.Errorf("saved %+v, loaded %+v", r, got)
	}
}

// fill gives every field a value that is not zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Pointer: // of a list: two are enough
		if v.Type() == reflect.TypeFor[*lease.Earlier]() {
			v.Set(reflect.ValueOf(&lease.Earlier{
				Group:      "y",
				Generation: 8,
				Highest:    9,
				Next:       &lease.Earlier{Group: "z", Generation: 10, Highest: 11},
			}))
			return
		}
		t.Fatalf("this test does not know how to fill a %s", v.Type())
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(math.MaxUint8)
	case reflect.Uint64:
		v.SetUint(math.MaxUint64)
	default:
		t.Fatalf("%s: this test does not know how to fill a %s", v.Type(), v.Kind())
	}
}

// decoded decodes data as a file, and as the body of one, because the fuzzer would not find a
// checksum. Whatever is taken is written in the same way again.
func decoded[T any](t *testing.T, f record.Format, data []byte,
	decode func([]byte) (T, error), encode func(T) []byte,
) {
	t.Helper()
	for _, data := range [][]byte{data, f.Encode(data)} {
		v, err := decode(data)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatalf("%q: an error without words", data)
			}
			continue
		}
		if again := encode(v); string(again) != string(data) {
			t.Fatalf("%q was taken for %+v, which is written as %q", data, v, again)
		}
	}
}

// seeds adds the goldens of every file, so that each decoder meets the others' files, too, and the
// bodies of those of its own.
func seeds(f *testing.F, format record.Format) {
	goldens, err := filepath.Glob("testdata/v*/*")
	if err != nil || len(goldens) == 0 {
		f.Fatal(err)
	}
	for _, path := range goldens {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		if _, body, err := format.Decode(data); err == nil {
			f.Add(body)
		}
	}
}

func FuzzDecodeID(f *testing.F) {
	seeds(f, idFormat)
	f.Fuzz(func(t *testing.T, data []byte) { decoded(t, idFormat, data, decodeID, encodeID) })
}

func FuzzDecodeIncarnation(f *testing.F) {
	seeds(f, incarnationFormat)
	f.Fuzz(func(t *testing.T, data []byte) {
		decoded(t, incarnationFormat, data, decodeIncarnation, encodeIncarnation)
	})
}

func FuzzDecodeAsked(f *testing.F) {
	seeds(f, askedFormat)
	f.Fuzz(func(t *testing.T, data []byte) {
		decoded(t, askedFormat, data, decodeAsked, must(t, encodeAsked))
	})
}

func FuzzDecodeLease(f *testing.F) {
	seeds(f, leaseFormat)
	f.Fuzz(func(t *testing.T, data []byte) {
		decoded(t, leaseFormat, data, decodeLease, must(t, encodeLease))
	})
}

func FuzzDecodeRoster(f *testing.F) {
	seeds(f, rosterFormat)
	f.Fuzz(func(t *testing.T, data []byte) {
		decoded(t, rosterFormat, data, decodeRoster, func(r roster.Roster) []byte {
			if err := r.Validate(); err != nil {
				t.Fatalf("an invalid roster was taken: %v", err)
			}
			return must(t, encodeRoster)(&r)
		})
	})
}
