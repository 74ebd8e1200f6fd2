package install

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

var rewrite = flag.Bool("rewrite", false, "add what is new on the wire to testdata/wire.txt")

// TestWireFormatsOnlyGrow: every field and code that was ever on the wire is there still, with its
// number and type. New ones are added to the record by -rewrite, which removes none;
// docs/guides/upgrade.md has the rule.
func TestWireFormatsOnlyGrow(t *testing.T) {
	file := filepath.Join("testdata", "wire.txt")
	content, err := os.ReadFile(file)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	recorded := strings.Fields(string(content))
	present := append(wire(rosterpb.File_internal_roster_rosterpb_roster_proto), wire(linkpb.File_internal_transport_linkpb_link_proto)...)
	for _, line := range recorded {
		if !slices.Contains(present, line) {
			t.Errorf("%s was on the wire and is not any more: agents and managers of the previous release use it", line)
		}
	}
	for _, line := range present {
		if !slices.Contains(recorded, line) {
			recorded = append(recorded, line)
			if !*rewrite {
				t.Errorf("%s is new on the wire: record it with go test ./test/install -run Wire -rewrite", line)
			}
		}
	}
	if *rewrite {
		slices.Sort(recorded)
		must(t, os.WriteFile(file, []byte(strings.Join(recorded, "\n")+"\n"), 0o600))
	}
}

// wire lists what a protobuf file puts on the wire, a line each, without blanks.
func wire(file protoreflect.FileDescriptor) (lines []string) {
	for i := range file.Messages().Len() {
		enums := file.Messages().Get(i).Enums()
		for j := range enums.Len() {
			values := enums.Get(j).Values()
			for k := range values.Len() {
				lines = append(lines, fmt.Sprintf("%s=%d", values.Get(k).FullName(), values.Get(k).Number()))
			}
		}
		fields := file.Messages().Get(i).Fields()
		for j := range fields.Len() {
			f := fields.Get(j)
			kind := f.Kind().String()
			if f.Kind() == protoreflect.MessageKind {
				kind = string(f.Message().FullName())
			}
			lines = append(lines, fmt.Sprintf("%s=%d,%s,%s", f.FullName(), f.Number(), f.Cardinality(), kind))
		}
	}
	return lines
}
