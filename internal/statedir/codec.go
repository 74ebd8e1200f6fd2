package statedir

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/podesta-dev/podesta/internal/durable/record"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// The formats of the files. A change of a schema below is a new version: its predecessor's schema
// stays beside it, decoding knows both, and testdata has goldens of both.
var (
	idFormat          = record.Format{Name: "podesta-state-id", Version: 1}
	incarnationFormat = record.Format{Name: "podesta-incarnation", Version: 1}
	leaseFormat       = record.Format{Name: "podesta-lease", Version: 1}
	rosterFormat      = record.Format{Name: "podesta-roster", Version: 1}
	askedFormat       = record.Format{Name: "podesta-certificate-asked", Version: 1}
	sessionFormat     = record.Format{Name: "podesta-session", Version: 1}
)

const maxID = 64

func newID() string { return rand.Text() }

func encodeID(id string) []byte { return idFormat.Encode([]byte(id)) }

func decodeID(data []byte) (string, error) {
	_, body, err := idFormat.Decode(data)
	if err != nil {
		return "", err
	}
	if len(body) == 0 || len(body) > maxID {
		return "", &record.Damaged{Reason: fmt.Sprintf("an identity has 1 to %d characters", maxID)}
	}
	for _, c := range body {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' {
			return "", &record.Damaged{Reason: "an identity has letters, digits and '-'"}
		}
	}
	return string(body), nil
}

func encodeIncarnation(n uint64) []byte {
	return incarnationFormat.Encode(strconv.AppendUint(nil, n, 10))
}

func decodeIncarnation(data []byte) (uint64, error) {
	_, body, err := incarnationFormat.Decode(data)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(body), 10, 63) // there is always a next one
	if err != nil || strconv.FormatUint(n, 10) != string(body) {
		return 0, &record.Damaged{Reason: "it has no number of a start"}
	}
	return n, nil
}

// leaseV1 is the schema of a lease.State.
type leaseV1 struct {
	Group            string        `json:"group"`
	Generation       int64         `json:"generation"`
	Voted            bool          `json:"voted"`
	HighestEpoch     int64         `json:"highestEpoch"`
	To               incarnationV1 `json:"to"`
	LeaseNanoseconds int64         `json:"leaseNanoseconds"`
	Earlier          []earlierV1   `json:"earlier"` // at most lease.MaxGroups
}

type earlierV1 struct {
	Group        string `json:"group"`
	Generation   int64  `json:"generation"`
	HighestEpoch int64  `json:"highestEpoch"`
}

type incarnationV1 struct {
	Name    string `json:"name"`
	UID     string `json:"uid"`
	StateID string `json:"stateID"`
	Number  uint64 `json:"number"`
}

// encodeLease returns the record of a state. It is an error if that would not be read back as it
// is.
func encodeLease(s lease.State) ([]byte, error) {
	v := leaseV1{
		Group:            s.Group,
		Generation:       s.Generation,
		Voted:            s.Voted,
		HighestEpoch:     int64(s.Highest),
		To:               incarnationV1(s.To),
		LeaseNanoseconds: int64(s.Lease),
		Earlier:          []earlierV1{},
	}
	for e := s.Earlier; e != nil; e = e.Next {
		v.Earlier = append(v.Earlier, earlierV1{e.Group, e.Generation, int64(e.Highest)})
	}
	body, err := record.EncodeJSON(v)
	if err != nil {
		return nil, err
	}
	data := leaseFormat.Encode(body)
	if again, err := decodeLease(data); err != nil || !again.Equal(s) {
		return nil, errors.Join(errors.New("it would not be read back as it is"), err)
	}
	return data, nil
}

func decodeLease(data []byte) (lease.State, error) {
	_, body, err := leaseFormat.Decode(data)
	if err != nil {
		return lease.State{}, err
	}
	v, err := record.DecodeJSON[leaseV1](body)
	if err != nil {
		return lease.State{}, err
	}
	if v.Generation < 0 || v.HighestEpoch < 0 || v.LeaseNanoseconds < 0 {
		return lease.State{}, &record.Damaged{Reason: "a number of it is negative"}
	}
	s := lease.State{
		Group:      v.Group,
		Generation: v.Generation,
		Voted:      v.Voted,
		Highest:    lease.Epoch(v.HighestEpoch),
		To:         lease.Incarnation(v.To),
		Lease:      time.Duration(v.LeaseNanoseconds),
	}
	s.Earlier, err = v.earlier()
	return s, err
}

// earlier returns what the record has of earlier group objects, each of which it names once.
func (v *leaseV1) earlier() (list *lease.Earlier, err error) {
	if v.Earlier == nil || len(v.Earlier) > lease.MaxGroups {
		return nil, &record.Damaged{
			Reason: fmt.Sprintf("it must list 0 to %d earlier groups", lease.MaxGroups),
		}
	}
	known := map[string]bool{v.Group: true}
	for _, e := range slices.Backward(v.Earlier) {
		if known[e.Group] || e.Generation < 0 || e.HighestEpoch < 0 {
			return nil, &record.Damaged{Reason: "an earlier group of it is not as an agent writes it"}
		}
		known[e.Group] = true
		list = &lease.Earlier{
			Group:      e.Group,
			Generation: e.Generation,
			Highest:    lease.Epoch(e.HighestEpoch),
			Next:       list,
		}
	}
	return list, nil
}

// encodeRoster returns the record of a roster, or nil for none. It is an error if that would not be
// read back as it is, so that a roster which no agent takes is never on the disk.
func encodeRoster(r *roster.Roster) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	body, err := record.EncodeJSON(rosterV1Of(*r))
	if err != nil {
		return nil, err
	}
	data := rosterFormat.Encode(body)
	if len(data) > maxFile {
		return nil, fmt.Errorf("it has %d bytes, and at most %d are read back", len(data), maxFile)
	}
	again, err := decodeRoster(data)
	if err != nil || !again.Equal(*r) || !bytes.Equal(again.Signed, r.Signed) {
		return nil, errors.Join(errors.New("it would not be read back as it is"), err)
	}
	return data, nil
}

func decodeRoster(data []byte) (roster.Roster, error) {
	_, body, err := rosterFormat.Decode(data)
	if err != nil {
		return roster.Roster{}, err
	}
	v, err := record.DecodeJSON[rosterV1](body)
	if err != nil {
		return roster.Roster{}, err
	}
	r := v.roster()
	if err := r.Validate(); err != nil {
		return roster.Roster{}, &record.Damaged{Reason: err.Error()}
	}
	if !reflect.DeepEqual(rosterV1Of(r), v) { // null for an empty list, for instance
		return roster.Roster{}, &record.Damaged{Reason: "its body is not as an agent writes it"}
	}
	return r, nil
}

// askedV1 is the schema of an Asked.
type askedV1 struct {
	BootID          string `json:"bootID"`
	BootNanoseconds int64  `json:"bootNanoseconds"`
}

func encodeAsked(a Asked) ([]byte, error) {
	body, err := record.EncodeJSON(askedV1{BootID: a.BootID, BootNanoseconds: int64(a.Boot)})
	if err != nil {
		return nil, err
	}
	return askedFormat.Encode(body), nil
}

func decodeAsked(data []byte) (Asked, error) {
	_, body, err := askedFormat.Decode(data)
	if err != nil {
		return Asked{}, err
	}
	v, err := record.DecodeJSON[askedV1](body)
	if err != nil {
		return Asked{}, err
	}
	return Asked{BootID: v.BootID, Boot: time.Duration(v.BootNanoseconds)}, nil
}
