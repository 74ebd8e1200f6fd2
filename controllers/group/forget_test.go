package group

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
)

// asking returns a group with the annotation, for this generation and so many voters with the
// longest names, of which the first is p-1 with UID 1.
func asking(t *testing.T, generation int64, voters int) *v1.ElectionGroup {
	t.Helper()
	request := v1.ForgetRequest{Generation: generation,
		Processes: []v1.ForgottenProcess{{Name: "p-1", UID: "1"}}}
	for i := len(request.Processes); i < voters; i++ {
		name := fmt.Sprintf("%s-%d", strings.Repeat("p", 249), 100+i)
		uid := types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
		request.Processes = append(request.Processes, v1.ForgottenProcess{Name: name, UID: uid})
	}
	value, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return annotated(string(value))
}

func annotated(value string) *v1.ElectionGroup {
	group := &v1.ElectionGroup{}
	group.Namespace, group.Name = "shop", "scheduler"
	group.Annotations = map[string]string{v1.ForgetAnnotation: value}
	return group
}

func TestAllVotersOfAGroupCanBeForgottenAtOnce(t *testing.T) {
	request, ignored := forgetRequest(asking(t, 7, v1.MaxProcesses), 7)
	if ignored != "" || request.Generation != 7 || len(request.Processes) != v1.MaxProcesses ||
		!request.Processes[membership.Identity{Name: "p-1", UID: "1"}] {
		t.Errorf("%d voters of generation %d: %s", len(request.Processes), request.Generation, ignored)
	}
}

// What somebody may leave in the annotation for ever costs a pass next to nothing: what is too
// long is not read at all, and of a request about another roster no voter is. Reading 100 voters
// allocates a thousand times.
func TestARequestThatDoesNotCountIsNotRead(t *testing.T) {
	long := asking(t, 7, 3*v1.MaxProcesses)
	for name, test := range map[string]struct {
		group   *v1.ElectionGroup
		ignored string
	}{
		"another roster":  {asking(t, 6, v1.MaxProcesses), ""},
		"a later roster":  {asking(t, 8, v1.MaxProcesses), ""},
		"too long":        {long, "and at most 49152 are read"},
		"too long spaces": {annotated(`{"generation":7}` + strings.Repeat(" ", longestForget)), "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			request, ignored := forgetRequest(test.group, 7)
			if len(request.Processes) > 0 || !strings.Contains(ignored, test.ignored) ||
				test.ignored == "" && ignored != "" {
				t.Errorf("%d voters are read: %q", len(request.Processes), ignored)
			}
			if n := testing.AllocsPerRun(10, func() { forgetRequest(test.group, 7) }); n > 40 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

func TestARequestThatCannotBeReadIsToldOnce(t *testing.T) {
	for name, value := range map[string]string{
		"no JSON":             "yes",
		"no voters":           `{"generation":7,"processes":"p-1"}`,
		"voters without form": `{"generation":7,"processes":["p-1"]}`,
		"a huge number":       `{"generation":` + strings.Repeat("7", 1<<16) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			group := annotated(value)
			request, ignored := forgetRequest(group, 7)
			if len(request.Processes) > 0 || len(ignored) > longestNote ||
				!strings.Contains(ignored, "kubectl annotate eg scheduler -n shop podesta.dev/forget-") {
				t.Errorf("%d voters are read: %q", len(request.Processes), ignored)
			}
		})
	}
	s := voting(3)
	s.group.Annotations = map[string]string{v1.ForgetAnnotation: "yes"}
	toldOnce(t, s, reasonForgetIgnored, "is ignored")
}
