package inject

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

//go:embed witness.yaml
var witnessFile string

// DefaultTopology is the label of nodes by whose values a witness keeps away from the other pods of
// its group.
const DefaultTopology = "kubernetes.io/hostname"

// validTopology accepts the keys of labels, but for their lengths.
var validTopology = regexp.MustCompile(`^([a-z0-9][a-z0-9.-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Witness returns the manifest of a witness of a group: a Deployment of one pod with the agent, as
// Manifests adds it. No two pods of the group run on nodes with the same value of the label
// topology.
//
// Only what is asked for is checked here: that the group exists, and has votes, is up to the
// caller.
func Witness(group types.NamespacedName, topology string, i Install) ([]byte, error) {
	if err := i.validate(); err != nil {
		return nil, err
	}
	if !validTopology.MatchString(topology) {
		return nil, fmt.Errorf("topology key %q: must be the key of a label of nodes, such as %s",
			topology, DefaultTopology)
	}
	if group.Namespace == i.Namespace || group.Namespace == kubeSystem {
		return nil, fmt.Errorf("namespace %s: no pod there gets the agent", group.Namespace)
	}
	fill := strings.NewReplacer("GROUP", group.Name, "NAMESPACE", group.Namespace,
		"TOPOLOGY", topology, wordImage, i.Image)
	out, notes, err := Manifests([]byte(fill.Replace(witnessFile)), i)
	if err == nil && (len(notes) != 1 || notes[0].HadAgent) {
		err = fmt.Errorf("the manifest of the witness is not what it should be: %v", notes)
	}
	return out, err
}
