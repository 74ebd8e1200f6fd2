package v1

// Labels and names that the API fixes.
const (
	// GroupLabel on a pod names its ElectionGroup.
	GroupLabel = "podesta.dev/group"
	// RoleLabel is on the coordinator's pod only, with the value RoleCoordinator.
	RoleLabel = "podesta.dev/role"
	// RoleCoordinator is the value of RoleLabel.
	RoleCoordinator = "coordinator"
	// CoordinatorServiceSuffix ends the name of a group's Service, which begins with the group's.
	CoordinatorServiceSuffix = "-coordinator"
	// ForgetAnnotation on a group holds a ForgetRequest. It does nothing once it was used, or when the roster has changed.
	ForgetAnnotation = "podesta.dev/forget"
	// TrustConfigMap is the ConfigMap with the CA bundle, in every namespace that has a group; its key is TrustKey.
	TrustConfigMap = "podesta-trust"
	// TrustKey is the key of the PEM bundle in TrustConfigMap.
	TrustKey = "ca.crt"
	// AgentContainer is the name of the agent's container in a pod: a native sidecar.
	AgentContainer = "podesta-agent"
	// LeaderLabel is on the leading manager's own pod only, with the value "true"; Service podesta-roster selects it.
	LeaderLabel = "podesta.dev/leader"
	// Audience is the audience of the ServiceAccount tokens with which agents join.
	Audience = "podesta.dev"
	// MaxProcesses is the most processes a group may have.
	MaxProcesses = 256
)
