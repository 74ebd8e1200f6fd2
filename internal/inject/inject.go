// Package inject knows what the sidecar looks like (sidecar.yaml) and how it gets into a pod: by a policy of the API server
// (Mutating), or in manifests, before they get there (Manifests). Both put in the same, from the same file: image and
// settings are the install's, never the pod's.
//
// A pod is meant if it carries the label podesta.dev/group. One that has the agent already is left alone, so that both may
// be used at once and again. The agent comes first among the init containers, its volumes first among the volumes.
package inject

import (
	"fmt"
	"net"
	"regexp"
)

// Install are the settings of an installation.
type Install struct {
	// Image is the agent's image.
	Image string
	// Manager is host:port of the roster service.
	Manager string
	// Namespace is where Podesta is installed: pods there, and in kube-system, are left alone.
	Namespace string
}

const kubeSystem = "kube-system"

// DefaultImage and DefaultNamespace are those of config/default.
const (
	repository       = "ghcr.io/podesta-dev/agent"
	DefaultImage     = repository + ":latest"
	DefaultNamespace = "podesta-system"
)

var release = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// ImageOf is the agent's image of a release; of any other build, the default.
func ImageOf(version string) string {
	if release.MatchString(version) {
		return repository + ":" + version
	}
	return DefaultImage
}

// NewInstall fills in what is empty: the defaults, and the manager's address in the namespace. It refuses what is no image
// or address, since both become part of programs.
func NewInstall(image, manager, namespace string) (Install, error) {
	i := Install{Image: image, Manager: manager, Namespace: namespace}
	if i.Image == "" {
		i.Image = DefaultImage
	}
	if i.Namespace == "" {
		i.Namespace = DefaultNamespace
	}
	if i.Manager == "" {
		i.Manager = "podesta-roster." + i.Namespace + ".svc:9443"
	}
	return i, i.validate()
}

var (
	validImage     = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9._:/@-]*[a-zA-Z][a-zA-Z0-9._:/@-]*$`)
	validAddress   = regexp.MustCompile(`^[a-zA-Z0-9.:\[\]-]+$`)
	validNamespace = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

func (i Install) validate() error {
	if !validImage.MatchString(i.Image) {
		return fmt.Errorf("image %q: must be a reference such as %s", i.Image, DefaultImage)
	}
	if !validNamespace.MatchString(i.Namespace) {
		return fmt.Errorf("namespace %q: must be a namespace's name such as %s", i.Namespace, DefaultNamespace)
	}
	if _, port, err := net.SplitHostPort(i.Manager); err != nil || port == "" || !validAddress.MatchString(i.Manager) {
		return fmt.Errorf("manager %q: must be HOST:PORT, such as podesta-roster.%s.svc:9443", i.Manager, i.Namespace)
	}
	return nil
}
