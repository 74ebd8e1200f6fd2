// Package manifest reads the examples' manifests, for the tests that compare them with the
// programs.
package manifest

import (
	"errors"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Commands returns the command line of each container in a file that runs this program, without the
// program itself. POD_NAME is the name of the workload's first pod.
func Commands(file, program string) ([][]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	var commands [][]string
	for documents := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		var workload struct {
			Metadata struct{ Name string }
			Spec     struct{ Template corev1.PodTemplateSpec }
		}
		if err := documents.Decode(&workload); errors.Is(err, io.EOF) {
			return commands, nil
		} else if err != nil {
			return nil, err
		}
		for _, c := range workload.Spec.Template.Spec.Containers {
			if len(c.Command) == 0 || c.Command[0] != program {
				continue
			}
			var command []string
			for _, arg := range append(c.Command[1:], c.Args...) {
				command = append(command, strings.ReplaceAll(arg, "$(POD_NAME)", workload.Metadata.Name+"-0"))
			}
			commands = append(commands, command)
		}
	}
}
