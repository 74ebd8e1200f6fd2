package api

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
)

// TestColumns reads a group as kubectl get does: as a table of the server's making.
func TestColumns(t *testing.T) {
	group := newGroup(newNamespace(t))
	if err := kube.Create(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	group.Status = podestav1.ElectionGroupStatus{
		Coordinator: &podestav1.CoordinatorStatus{
			Name: "scheduler-4", Priority: ptr.To[int32](50), Epoch: 29353417113602, DisplayEpoch: "27993600.2", Since: metav1.NowMicro(),
		},
		Running:           "4/5",
		ToleratedFailures: ptr.To[int32](2),
		Roster:            &podestav1.RosterStatus{Generation: 27993600},
		Conditions: []metav1.Condition{{
			Type: podestav1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Elected",
			Message: "5 of 5 follow scheduler-4", LastTransitionTime: metav1.NewTime(time.Now()),
		}},
	}
	if err := kube.Status().Update(t.Context(), group); err != nil {
		t.Fatal(err)
	}

	table := readTable(t, group)
	var narrow, wide []string
	cells := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		cells[column.Name] = table.Rows[0].Cells[i]
		if column.Priority == 0 {
			narrow = append(narrow, column.Name)
		} else {
			wide = append(wide, column.Name)
		}
	}
	if diff := cmp.Diff([]string{"Name", "Algorithm", "Coordinator", "Running", "Ready", "Age"}, narrow); diff != "" {
		t.Errorf("columns of kubectl get (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Epoch", "Safety", "Priority", "Since", "Roster", "Tolerates", "Reason", "Message"}, wide); diff != "" {
		t.Errorf("further columns of kubectl get -o wide (-want +got):\n%s", diff)
	}
	want := map[string]any{
		"Name": "scheduler", "Algorithm": "Bully", "Coordinator": "scheduler-4", "Running": "4/5", "Ready": "True", "Epoch": "27993600.2",
		"Safety": "Guarded", "Priority": 50.0, "Roster": 27993600.0, "Tolerates": 2.0, "Reason": "Elected",
		"Message": "5 of 5 follow scheduler-4",
	}
	delete(cells, "Age") // these two tell the time
	delete(cells, "Since")
	if diff := cmp.Diff(want, cells); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

// readTable asks for the group as kubectl get does.
func readTable(t *testing.T, group *podestav1.ElectionGroup) metav1.Table {
	t.Helper()
	raw := rest.CopyConfig(config)
	raw.APIPath, raw.GroupVersion = "/apis", &podestav1.GroupVersion
	raw.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	reader, err := rest.RESTClientFor(raw)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := reader.Get().Namespace(group.Namespace).Resource("electiongroups").Name(group.Name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(answer, &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 1 {
		t.Fatalf("the table has %d rows; want 1", len(table.Rows))
	}
	return table
}

func TestShortName(t *testing.T) {
	resources, err := discovery.NewDiscoveryClientForConfigOrDie(config).
		ServerResourcesForGroupVersion(podestav1.GroupVersion.String())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == "electiongroups" })
	if at < 0 || !slices.Contains(resources.APIResources[at].ShortNames, "eg") {
		t.Errorf("kubectl get eg does not find electiongroups among %v", resources.APIResources)
	}
}

func TestSelectableFields(t *testing.T) {
	namespace := newNamespace(t)
	for name, algorithm := range map[string]podestav1.Algorithm{
		"first": podestav1.Bully, "second": podestav1.ChangRoberts, "third": podestav1.Bully,
	} {
		group := newGroup(namespace)
		group.Name, group.Spec.Algorithm = name, algorithm
		if name == "second" {
			group.Spec.Safety = podestav1.Classic
		}
		if err := kube.Create(t.Context(), group); err != nil {
			t.Fatal(err)
		}
		if name == "second" {
			group.Status.Coordinator = &podestav1.CoordinatorStatus{Name: "pod-7"}
			if err := kube.Status().Update(t.Context(), group); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		field, value string
		want         []string
	}{
		{"spec.algorithm", "Bully", []string{"first", "third"}},
		{"spec.algorithm", "ChangRoberts", []string{"second"}},
		{"spec.safety", "Guarded", []string{"first", "third"}},
		{"spec.safety", "Classic", []string{"second"}},
		{"status.coordinator.name", "pod-7", []string{"second"}},
		{"status.coordinator.name", "pod-8", nil},
	} {
		t.Run(test.field+"="+test.value, func(t *testing.T) {
			var groups podestav1.ElectionGroupList
			selector := client.MatchingFields{test.field: test.value}
			if err := kube.List(t.Context(), &groups, client.InNamespace(namespace), selector); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, group := range groups.Items {
				got = append(got, group.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("groups selected (-want +got):\n%s", diff)
			}
		})
	}
}
