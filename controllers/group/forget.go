package group

import (
	"encoding/json"
	"fmt"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
)

// longestForget is the most bytes of the forget annotation that are read. A request that names 100
// voters with the longest names and UIDs takes 32 KiB; Kubernetes allows annotations of 256 KiB.
const longestForget = 48 << 10

// forgetRequest returns what the group's annotation asks for about the roster of this generation,
// with nothing but the generation if it is about another one: only then are its voters read. A
// request that cannot be read asks for nothing, and ignored says why, and what to do.
func forgetRequest(group *v1.ElectionGroup,
	generation int64) (request membership.ForgetRequest, ignored string) {
	value, found := group.Annotations[v1.ForgetAnnotation]
	if !found {
		return request, ""
	}
	if len(value) > longestForget {
		return request, forgetIgnored(group, fmt.Sprintf("it has %d bytes, and at most %d are read",
			len(value), longestForget))
	}
	var asked struct { // v1.ForgetRequest, its voters unread
		Generation int64           `json:"generation"`
		Processes  json.RawMessage `json:"processes"`
	}
	if json.Unmarshal([]byte(value), &asked) != nil { // the error may quote all of it
		return request, forgetIgnored(group, "it is not a request in JSON")
	}
	request.Generation = asked.Generation
	if asked.Generation != generation || len(asked.Processes) == 0 {
		return request, ""
	}
	var processes []v1.ForgottenProcess
	if json.Unmarshal(asked.Processes, &processes) != nil {
		return membership.ForgetRequest{}, forgetIgnored(group,
			"its processes are not a list of names and UIDs")
	}
	request.Processes = make(map[membership.Identity]bool, len(processes))
	for _, p := range processes {
		request.Processes[membership.Identity{Name: p.Name, UID: string(p.UID)}] = true
	}
	return request, ""
}

// forgetIgnored tells why the annotation is ignored, and what to do.
func forgetIgnored(group *v1.ElectionGroup, why string) string {
	return fmt.Sprintf("the annotation %s is ignored: %s. Remove it (kubectl annotate eg %s -n %s "+
		"%s-), and let kubectl election forget write it", v1.ForgetAnnotation, why, group.Name,
		group.Namespace, v1.ForgetAnnotation)
}
