package e2e

import (
	"bufio"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes"
)

// writeCounts counts what has been written to the API server for groups, by "verb resource": groups
// and their status, role labels, events, trust. What a kubelet writes (the status of pods) is not
// among them.
type writeCounts map[string]int

// sampleLine is a line of kube-apiserver's own count of requests.
var sampleLine = regexp.MustCompile(`^apiserver_request_total\{(.*)\} (\S+)$`)

// countWrites asks the API server how much has been written since it started.
func (g *group) countWrites(ctx context.Context) (writeCounts, error) {
	clientset, err := kubernetes.NewForConfig(g.Config)
	if err != nil {
		return nil, err
	}
	text, err := clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	writes := writeCounts{}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		match := sampleLine.FindStringSubmatch(lines.Text())
		if match == nil || !ours(match[1]) {
			continue
		}
		n, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			return nil, err
		}
		resource := label(match[1], "resource")
		if sub := label(match[1], "subresource"); sub != "" {
			resource += "/" + sub
		}
		writes[label(match[1], "verb")+" "+resource] += int(n)
	}
	return writes, lines.Err()
}

func ours(labels string) bool {
	if !slices.Contains([]string{"POST", "PUT", "PATCH", "APPLY", "DELETE"}, label(labels, "verb")) || !strings.HasPrefix(label(labels, "code"), "2") {
		return false
	}
	switch label(labels, "resource") {
	case "electiongroups", "events", "configmaps", "secrets":
		return true
	case "pods":
		return label(labels, "subresource") == "" && label(labels, "verb") != "POST" && label(labels, "verb") != "DELETE"
	}
	return false
}

func label(labels, name string) string {
	_, rest, _ := strings.Cut(","+labels, ","+name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// Since is what was written after an earlier count; if a count went back, less than nothing.
func (w writeCounts) Since(before writeCounts) writeCounts {
	more := writeCounts{}
	for what, n := range w {
		if n != before[what] {
			more[what] = n - before[what]
		}
	}
	for what, n := range before {
		if _, counted := w[what]; !counted {
			more[what] = -n
		}
	}
	return more
}

// Total is the number of writes.
func (w writeCounts) Total() (n int) {
	for _, count := range w {
		n += count
	}
	return n
}

func (w writeCounts) String() string {
	parts := make([]string, 0, len(w))
	for what, n := range w {
		parts = append(parts, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
