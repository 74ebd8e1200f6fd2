package record

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// EncodeJSON returns a body in JSON. T is a schema: a struct of its own for each version, made for
// this file and for nothing else, whose fields all have a tag.
func EncodeJSON[T any](schema T) ([]byte, error) { return json.Marshal(schema) }

// DecodeJSON takes exactly what EncodeJSON makes of a T: no unknown, missing, repeated or misspelt
// field, no other order, nothing before or behind. Otherwise the error is a *Damaged.
func DecodeJSON[T any](body []byte) (schema T, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&schema); err != nil {
		return schema, &Damaged{fmt.Sprintf("its body: %v", err)}
	}
	again, err := EncodeJSON(schema)
	if err != nil || !bytes.Equal(again, body) {
		return schema, &Damaged{"its body is not as this version of the format writes it"}
	}
	return schema, nil
}
