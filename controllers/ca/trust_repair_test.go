package ca

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

var configMaps = schema.GroupResource{Resource: "configmaps"}

// workshop is an API server with one ConfigMap, in a namespace that has a group. It takes down what
// is written.
type workshop struct {
	found  *corev1.ConfigMap
	empty  bool             // it has no group any more
	refuse map[string]error // of writes, by verb
	writes []string
}

func (w *workshop) write(verb string) error {
	w.writes = append(w.writes, verb)
	return w.refuse[verb]
}

func (w *workshop) bundle() *TrustBundle {
	return NewTrustBundle(interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, object client.Object,
			_ ...client.GetOption) error {
			w.found.DeepCopyInto(object.(*corev1.ConfigMap))
			return nil
		},
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			if groups, ok := list.(*v1.ElectionGroupList); ok && !w.empty {
				groups.Items = make([]v1.ElectionGroup, 1)
			}
			return nil
		},
		Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.DeleteOption) error {
			all := &client.DeleteOptions{}
			all.ApplyOptions(options)
			if all.Preconditions == nil || *all.Preconditions.UID != "u" || *all.Preconditions.ResourceVersion != "7" {
				return errors.New("another ConfigMap may be deleted")
			}
			return w.write("delete")
		},
		Patch: func(_ context.Context, _ client.WithWatch, object client.Object, patch client.Patch,
			_ ...client.PatchOption) error {
			data, err := patch.Data(object)
			if want := `{"metadata":{"resourceVersion":"7"},"binaryData":null}`; err != nil || string(data) != want {
				return errors.New("it patches " + string(data))
			}
			return w.write("patch")
		},
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return w.write("apply")
		},
	}), system)
}

func TestHowADamagedBundleIsMended(t *testing.T) {
	refused := apierrors.NewForbidden(configMaps, v1.TrustConfigMap, errors.New(strings.Repeat("no ", 1000)))
	conflict := apierrors.NewConflict(configMaps, v1.TrustConfigMap, errors.New("it was changed"))
	for _, test := range []struct {
		name      string
		says      string
		immutable bool
		binary    bool
		refuse    map[string]error
		writes    string
		problem   bool
	}{
		{"immutable", "forged", true, false, nil, "delete apply", false},
		{"immutable, and right", "the bundle", true, false, nil, "delete apply", false},
		{"in binaryData", "", false, true, nil, "patch apply", false},
		{"binaryData beside it", "the bundle", false, true, nil, "patch apply", false},
		{"both", "", true, true, nil, "delete apply", false},
		{"gone meanwhile", "forged", true, false,
			map[string]error{"delete": apierrors.NewNotFound(configMaps, "x")}, "delete apply", false},
		{"kept by a finalizer", "forged", true, false, map[string]error{"apply": refused}, "delete apply", true},
		{"not to be deleted", "forged", true, false, map[string]error{"delete": refused}, "delete", true},
		{"not to be patched", "", false, true, map[string]error{"patch": refused}, "patch", true},
		{"not to be written", "forged", false, false, map[string]error{"apply": refused}, "apply", true},
		{"changed meanwhile", "", false, true, map[string]error{"patch": conflict}, "patch", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &workshop{refuse: test.refuse, found: &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "7"},
				Data:       map[string]string{v1.TrustKey: test.says},
				Immutable:  &test.immutable,
			}}
			if test.binary {
				w.found.BinaryData = map[string][]byte{v1.TrustKey: []byte("forged")}
			}
			b := w.bundle()
			var told []string
			b.Problems.OnChange(func(namespace string) { told = append(told, namespace) })
			b.Distribute([]byte("the bundle"))
			request := reconcile.Request{
				NamespacedName: types.NamespacedName{Namespace: "shop", Name: v1.TrustConfigMap},
			}
			for range 2 { // what is told once is not told again
				w.writes = nil
				_, err := b.Reconcile(t.Context(), request)
				if got := strings.Join(w.writes, " "); got != test.writes {
					t.Errorf("it writes %q (%v), want %q", got, err, test.writes)
				}
				if wrong := err != nil; wrong != (test.problem || strings.Contains(test.name, "changed")) {
					t.Errorf("got %v", err)
				}
			}
			problem := b.Problems.In("shop")
			if (problem != "") != test.problem || len(problem) > 1024 || slices.Contains(told, "shop") != test.problem ||
				len(told) > 1 {
				t.Errorf("problem %q, told %v", problem, told)
			}
			if b.Problems.In("other") != "" {
				t.Error("another namespace has a problem")
			}
			w.found.Data, w.found.BinaryData, w.found.Immutable = map[string]string{v1.TrustKey: "the bundle"}, nil, nil
			if _, err := b.Reconcile(t.Context(), request); err != nil || b.Problems.In("shop") != "" {
				t.Errorf("somebody has mended it: %v, %s", err, b.Problems.In("shop"))
			}
		})
	}
}

// An API server that is busy, or away for a moment, is no problem of the namespace; one that fails
// for longer is.
func TestAMomentOfTroubleIsNotTold(t *testing.T) {
	away := apierrors.NewInternalError(errors.New("etcd is away"))
	begun, p := time.Now(), NewTrustProblems()
	told := func(after time.Duration, err error) bool {
		p.wrote("shop", err, begun.Add(after))
		return p.In("shop") != ""
	}
	if told(0, away) || told(transient-1, away) || !told(transient, away) {
		t.Errorf("it is told after %v, or before: %q", transient, p.In("shop"))
	}
	if told(transient, nil) || told(2*transient, away) {
		t.Errorf("it was written, and fails for a moment again: %q", p.In("shop"))
	}
}

// What is wrong in a namespace is forgotten with its last group.
func TestAProblemEndsWithTheLastGroup(t *testing.T) {
	w := &workshop{
		found: &corev1.ConfigMap{Data: map[string]string{v1.TrustKey: "forged"}},
		empty: true,
	}
	b := w.bundle()
	b.Distribute([]byte("the bundle"))
	b.Problems.note("shop", "it cannot be written")
	request := reconcile.Request{
		NamespacedName: types.NamespacedName{Namespace: "shop", Name: v1.TrustConfigMap},
	}
	if _, err := b.Reconcile(t.Context(), request); err != nil || b.Problems.In("shop") != "" {
		t.Errorf("%v; the namespace has no group, and the problem %q", err, b.Problems.In("shop"))
	}
}
