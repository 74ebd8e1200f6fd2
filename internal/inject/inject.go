// Package inject adds the agent's sidecar (sidecar.yaml) to pods, and variables (elector.yaml) to
// the environments of their containers, either by an admission policy of the API server (Mutating)
// or in manifests before they are applied (Manifests). Both add the same, from the same files. The
// image and the settings are those of the installation, never the pod's.
//
// The package acts on pods with the label podesta.dev/group. It does not change a pod that already
// has the agent, so both ways can be combined and repeated. The agent becomes the first init
// container, its volumes the first volumes, and the variables the first of each container that does
// not set them itself.
package inject

import (
	"cmp"
	"fmt"
	"net"
	"regexp"
)

// Install holds the settings of an installation.
type Install struct {
	// Image is the image of the agent.
	Image string
	// Manager is the HOST:PORT of the manager's roster service.
	Manager string
	// Namespace is the namespace in which Podesta is installed. Pods in it and in kube-system are
	// not changed.
	Namespace string
}

const kubeSystem = "kube-system"

// DefaultImage and DefaultNamespace are the values that config/default uses.
const (
	repository       = "ghcr.io/podesta-dev/agent"
	DefaultImage     = repository + ":latest"
	DefaultNamespace = "podesta-system"
)

var release = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// ImageOf returns the agent's image of a release, or DefaultImage for any other version.
func ImageOf(version string) string {
	if release.MatchString(version) {
		return repository + ":" + version
	}
	return DefaultImage
}

// NewInstall returns an Install in which empty settings have their defaults; the manager's address
// defaults to the roster service in the namespace. It returns an error for malformed values: they
// become part of CEL programs and YAML.
func NewInstall(image, manager, namespace string) (Install, error) {
	i := Install{
		Image:     cmp.Or(image, DefaultImage),
		Namespace: cmp.Or(namespace, DefaultNamespace),
	}
	i.Manager = cmp.Or(manager, "podesta-roster."+i.Namespace+".svc:9443")
	return i, i.validate()
}

var (
	validImage     = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9._:/@-]*[a-zA-Z][a-zA-Z0-9._:/@-]*$`)
	validAddress   = regexp.MustCompile(`^[a-zA-Z0-9.:\[\]-]+$`)
	validNamespace = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

func (i Install) validate() error {
	if !validImage.MatchString(i.Image) {
		return fmt.Errorf("image %q: must be an image reference such as %s", i.Image, DefaultImage)
	}
	if !validNamespace.MatchString(i.Namespace) {
		return fmt.Errorf("namespace %q: must be the name of a namespace, such as %s", i.Namespace,
			DefaultNamespace)
	}
	if _, port, err := net.SplitHostPort(i.Manager); err != nil || port == "" ||
		!validAddress.MatchString(i.Manager) {
		return fmt.Errorf("manager %q: must be HOST:PORT, such as podesta-roster.%s.svc:9443",
			i.Manager, i.Namespace)
	}
	return nil
}
