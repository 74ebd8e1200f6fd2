package delimited

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// empties is a message of so many empty ones, of two bytes each.
func empties(n int) *structpb.ListValue {
	l := &structpb.ListValue{}
	for range n {
		l.Values = append(l.Values, &structpb.Value{})
	}
	return l
}

// A peer cannot have a short message take much memory by having nothing in it, many times, at
// whatever depth.
func TestFieldsAreBounded(t *testing.T) {
	list := func(l *structpb.ListValue) *structpb.ListValue {
		return &structpb.ListValue{Values: []*structpb.Value{structpb.NewListValue(l)}}
	}
	for name, c := range map[string]struct {
		message *structpb.ListValue
		fits    bool
	}{
		"as many as may be":        {empties(mostFields), true},
		"one more":                 {empties(mostFields + 1), false},
		"deeper":                   {list(empties(mostFields - 2)), true},
		"one more, deeper":         {list(empties(mostFields - 1)), false},
		"few":                      {empties(1), true},
		"as many as fit the limit": {empties(limit / 2), false},
	} {
		conn := bytes.NewBuffer(wire(t, c.message))
		got := &structpb.ListValue{}
		err := New(conn, limit).Receive(got)
		if (err == nil) != c.fits || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && len(got.GetValues()) > 0 {
			t.Errorf("%s: %d were decoded all the same", name, len(got.GetValues()))
		}
	}
	unknown := bytes.NewBuffer(wire(t, empties(mostFields+1))) // is not kept, and does not count
	if err := New(unknown, limit).Receive(&emptypb.Empty{}); err != nil {
		t.Error(err)
	}
}
