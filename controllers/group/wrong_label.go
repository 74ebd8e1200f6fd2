package group

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// reasonGroupMissing is the reason of an event on a pod. reasonPodsMislabelled is that of condition
// Degraded of the group that the pod is probably meant for.
const (
	reasonGroupMissing    = "GroupMissing"
	reasonPodsMislabelled = "PodsMislabelled"
)

// groupMayFollow is how long a pod may be older than its group.
const groupMayFollow = 5 * time.Second

// wrongLabels are the names in labels of pods that no group has. Their number is bounded by that of
// the pods. Safe for concurrent use.
type wrongLabels struct {
	mu sync.Mutex
	in map[string]map[string]wrongLabel // by namespace, and by the name
}

// wrongLabel is what is known of one such name.
type wrongLabel struct {
	since time.Time
	pods  []string           // that name it
	told  map[types.UID]bool // those of them that have an event
	like  string             // the group whose name is much like it; empty: none
}

// tellWrongLabel says that these pods name a group that does not exist. Each pod has one event, the
// agents know what they wait for, and the group whose name is much like it has a new pass, which
// writes its status. It returns when it is to be called again; zero: at the next news.
func (r *Reconciler) tellWrongLabel(ctx context.Context, key types.NamespacedName,
	pods []*corev1.Pod) (again time.Duration, err error) {
	pods = slices.DeleteFunc(slices.Clone(pods), departing)
	if len(pods) == 0 {
		r.Rosters.Hold(key.Namespace, key.Name, roster.Hold{})
		r.forgetWrongLabel(key)
		return 0, nil
	}
	groups := &v1.ElectionGroupList{}
	if err := r.Client.List(ctx, groups, client.InNamespace(key.Namespace)); err != nil {
		return 0, err
	}
	others := make([]string, len(groups.Items))
	for i := range groups.Items {
		others[i] = groups.Items[i].Name
	}
	byLikeness(others, key.Name)
	before, now, fresh := r.wrong.see(key, pods, others, r.Now())
	if left := now.since.Add(groupMayFollow).Sub(r.Now()); left > 0 {
		return left, nil
	}
	why := missingGroup(key.Name, others)
	r.Rosters.Hold(key.Namespace, key.Name, roster.Hold{Reason: why})
	for _, pod := range fresh {
		r.Recorder.Eventf(pod, nil, corev1.EventTypeWarning, reasonGroupMissing, "Join", "%s",
			shorten(why+". Correct the label "+v1.GroupLabel+" in the pod template, or create the group"))
	}
	if before.like != now.like || !slices.Equal(before.pods, now.pods) || len(fresh) > 0 {
		r.wakeUp(key.Namespace, before.like, now.like)
	}
	return 0, nil
}

// forgetWrongLabel is for a group that exists, or that no pod names.
func (r *Reconciler) forgetWrongLabel(key types.NamespacedName) {
	r.wakeUp(key.Namespace, r.wrong.drop(key))
}

// wakeUp has groups of a namespace reconciled; an empty name is none.
func (r *Reconciler) wakeUp(namespace string, names ...string) {
	for _, name := range slices.Compact(names) {
		if name != "" && r.wake != nil {
			r.wake(types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
}

// see notes which pods name a group that does not exist. The others are the namespace's groups; the
// first is the most like it. It returns what was noted before and what is noted now, and the pods
// that get their event now.
func (w *wrongLabels) see(key types.NamespacedName, pods []*corev1.Pod, others []string,
	now time.Time) (before, is wrongLabel, fresh []*corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, found := w.in[key.Namespace][key.Name]
	is = wrongLabel{since: now, told: map[types.UID]bool{}}
	if found {
		is.since = before.since
	}
	if len(others) > 0 && alike(others[0], key.Name) {
		is.like = others[0]
	}
	due := now.Sub(is.since) >= groupMayFollow
	for _, pod := range pods {
		is.pods = append(is.pods, pod.Name)
		if due && !before.told[pod.UID] {
			fresh = append(fresh, pod)
		}
		is.told[pod.UID] = due
	}
	if w.in == nil {
		w.in = map[string]map[string]wrongLabel{}
	}
	if w.in[key.Namespace] == nil {
		w.in[key.Namespace] = map[string]wrongLabel{}
	}
	w.in[key.Namespace][key.Name] = is
	return before, is, fresh
}

// drop forgets a name, and returns the group that is like it.
func (w *wrongLabels) drop(key types.NamespacedName) (like string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	like = w.in[key.Namespace][key.Name].like
	delete(w.in[key.Namespace], key.Name)
	if len(w.in[key.Namespace]) == 0 {
		delete(w.in, key.Namespace)
	}
	return like
}

// names returns the groups that pods of a namespace name and that do not exist.
func (w *wrongLabels) names(namespace string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.in[namespace]))
}

// near describes the pods that were probably meant for a group, and what to do; empty: there are
// none.
func (w *wrongLabels) near(group types.NamespacedName, now time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(w.in[group.Namespace])) {
		label := w.in[group.Namespace][name]
		if label.like == group.Name && now.Sub(label.since) >= groupMayFollow {
			parts = append(parts, fmt.Sprintf("%s %s the label %s=%s", enumerate(label.pods),
				plural(len(label.pods), "has", "have"), v1.GroupLabel, name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return enumerate(parts) + ", and no such group exists: if this one is meant, correct the label " +
		"in the pod template"
}

// missingGroup says that a group does not exist, and names others that do, in their order.
func missingGroup(name string, others []string) string {
	if len(others) == 0 {
		return fmt.Sprintf("group %s does not exist in this namespace, which has no group", name)
	}
	return fmt.Sprintf("group %s does not exist in this namespace; there %s %s", name,
		plural(len(others), "is", "are"), enumerate(others))
}

// byLikeness sorts names: those that are most like a name come first.
func byLikeness(names []string, name string) {
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(edits(a, name), edits(b, name)), strings.Compare(a, b))
	})
}

// alike reports whether one of two names may be a slip of the pen for the other: at most a third of
// it differs.
func alike(a, b string) bool { return 3*edits(a, b) <= max(len(a), len(b)) }

// edits returns how many bytes have to be inserted, deleted or replaced to make one string of
// another (Levenshtein's distance).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
