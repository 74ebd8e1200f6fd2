package delimited

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// mostFields is how many fields a message may have, with those of the messages in it. A table of
// the largest group has some 800.
const mostFields = 4096

// exceeds reports whether an encoded message has more fields than it may. Those that its descriptor
// does not know do not count: they are not kept. What is no message is left to the decoder.
func exceeds(encoded []byte, d protoreflect.MessageDescriptor) bool {
	_, ok := count(encoded, d, 0, deepest)
	return !ok
}

// count returns how many fields there are, with those counted before; false: too many.
func count(encoded []byte, d protoreflect.MessageDescriptor, n, levels int) (int, bool) {
	for len(encoded) > 0 {
		number, kind, size := protowire.ConsumeTag(encoded)
		if size < 0 {
			return n, true
		}
		encoded = encoded[size:]
		if size = protowire.ConsumeFieldValue(number, kind, encoded); size < 0 {
			return n, true
		}
		value := encoded[:size]
		encoded = encoded[size:]
		field := d.Fields().ByNumber(number)
		if field == nil {
			continue
		}
		if n++; n > mostFields {
			return n, false
		}
		if kind != protowire.BytesType || field.Message() == nil || levels == 0 {
			continue
		}
		inner, _ := protowire.ConsumeBytes(value)
		var ok bool
		if n, ok = count(inner, field.Message(), n, levels-1); !ok {
			return n, false
		}
	}
	return n, true
}
