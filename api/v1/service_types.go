package v1

import "k8s.io/apimachinery/pkg/util/intstr"

// CoordinatorService configures the Service that selects the coordinator's pod.
type CoordinatorService struct {
	// ports are the ports of the Service.
	// +required
	// +listType=map
	// +listMapKey=port
	// +listMapKey=protocol
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.size() == 1 || self.all(p, has(p.name))",message="every port needs a name if there is more than one port"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !has(p.name) || self.exists_one(q, has(q.name) && q.name == p.name))",message="two ports have the same name"
	Ports []CoordinatorPort `json:"ports,omitempty"`
}

// PortProtocol is the protocol of a Service port.
//
// +kubebuilder:validation:Enum=TCP;UDP;SCTP
type PortProtocol string

// The protocols that a Service supports.
const (
	TCP  PortProtocol = "TCP"
	UDP  PortProtocol = "UDP"
	SCTP PortProtocol = "SCTP"
)

// CoordinatorPort is a port of the Service that selects the coordinator's pod. The fields mean the
// same as those of a Service's port.
type CoordinatorPort struct {
	// name is the name of the port. It is optional if there is only one port.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="name must consist of lower case letters, digits and '-'"
	Name string `json:"name,omitempty"`

	// port is the port number of the Service.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// protocol is TCP, UDP or SCTP.
	// +optional
	// +default="TCP"
	Protocol PortProtocol `json:"protocol,omitempty"`

	// targetPort is the port of the pod: a number, or the name of a container's port. If absent, it
	// is the same as port.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 65535 : self.size() >= 1 && self.size() <= 15",message="targetPort must be a number from 1 to 65535 or the name of a container's port (at most 15 characters)"
	TargetPort *intstr.IntOrString `json:"targetPort,omitempty"`

	// appProtocol is the application protocol, a hint for service meshes and load balancers, for
	// example kubernetes.io/h2c.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="appProtocol must be a qualified name, such as http or kubernetes.io/h2c"
	AppProtocol string `json:"appProtocol,omitempty"`
}
