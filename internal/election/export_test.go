package election

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// Clone copies a machine with its whole state, for the exploration of every interleaving. It copies
// by reflection, so that no algorithm and no field can be forgotten.
func (m *Machine) Clone() *Machine {
	c := copier{}
	return (*Machine)(c.pointer(reflect.ValueOf(m)))
}

// copier maps the pointers that were copied to their copies.
type copier map[unsafe.Pointer]unsafe.Pointer

func (c copier) pointer(v reflect.Value) unsafe.Pointer {
	if to, ok := c[v.UnsafePointer()]; ok {
		return to
	}
	to := reflect.New(v.Type().Elem())
	c[v.UnsafePointer()] = to.UnsafePointer()
	c.copy(to.Elem(), v.Elem())
	return to.UnsafePointer()
}

// copy fills to, which must be settable, with a copy of from.
func (c copier) copy(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.NewAt(from.Type().Elem(), c.pointer(from)))
		}
	case reflect.Interface:
		if !from.IsNil() {
			inner := reflect.New(from.Elem().Type()).Elem()
			c.copy(inner, from.Elem())
			to.Set(inner)
		}
	case reflect.Struct:
		for i := range from.NumField() {
			if forgotten(from.Type(), i) {
				continue
			}
			field := to.Field(i)
			c.copy(reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem(), from.Field(i))
		}
	case reflect.Slice:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			c.copy(to.Index(i), from.Index(i))
		}
	case reflect.Map:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeMap(from.Type()))
		for it := from.MapRange(); it.Next(); {
			key, value := reflect.New(from.Type().Key()).Elem(),
				reflect.New(from.Type().Elem()).Elem()
			c.copy(key, it.Key())
			c.copy(value, it.Value())
			to.SetMapIndex(key, value)
		}
	case reflect.String:
		to.SetString(from.String())
	case reflect.Bool:
		to.SetBool(from.Bool())
	case reflect.Int, reflect.Int32:
		to.SetInt(from.Int())
	case reflect.Uint8, reflect.Uint64:
		to.SetUint(from.Uint())
	default:
		panic(fmt.Sprintf("a machine holds a %s: teach Clone to copy it", from.Type()))
	}
}

// forgotten reports whether a field does not influence what a machine does: its output of the last
// step, and its accounts.
func forgotten(t reflect.Type, field int) bool {
	return t == reflect.TypeFor[Machine]() && slices.Contains([]string{
		"out",
		"account",
		"last",
		"concluded",
	}, t.Field(field).Name)
}

// AppendSnapshot appends a machine's state in a canonical form. Two machines of the same process
// that will always behave alike mostly have the same.
func (m *Machine) AppendSnapshot(b []byte) []byte {
	return (&snapshot{bytes: b, seen: map[unsafe.Pointer]bool{}}).add(reflect.ValueOf(m)).bytes
}

type snapshot struct {
	bytes []byte
	seen  map[unsafe.Pointer]bool
}

func (s *snapshot) add(v reflect.Value) *snapshot {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !s.seen[v.UnsafePointer()] {
			s.seen[v.UnsafePointer()] = true
			s.add(v.Elem())
		}
	case reflect.Interface:
		s.add(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if !forgotten(v.Type(), i) {
				s.add(v.Field(i))
			}
		}
	case reflect.Slice:
		s.number(uint64(v.Len()))
		for i := range v.Len() {
			s.add(v.Index(i))
		}
	case reflect.Map:
		s.number(uint64(v.Len()))
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int {
			return compare(a.String(), b.String())
		})
		for _, key := range keys {
			s.add(key).add(v.MapIndex(key))
		}
	case reflect.String:
		s.number(uint64(v.Len()))
		s.bytes = append(s.bytes, v.String()...)
	case reflect.Bool:
		s.number(map[bool]uint64{true: 1}[v.Bool()])
	case reflect.Int, reflect.Int32:
		s.number(uint64(v.Int()))
	case reflect.Uint8, reflect.Uint64:
		s.number(v.Uint())
	default:
		panic(fmt.Sprintf("a machine holds a %s: teach AppendSnapshot to write it", v.Type()))
	}
	return s
}

func (s *snapshot) number(n uint64) { s.bytes = binary.AppendUvarint(s.bytes, n) }

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}
