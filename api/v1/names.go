package v1

// Labels and names that are part of the API.
const (
	// GroupLabel is the label of a pod whose value is the name of the pod's ElectionGroup.
	GroupLabel = "podesta.dev/group"
	// WitnessLabel makes a pod of a group a witness, if its value is WitnessTrue: it votes and never
	// coordinates. It counts for good: a pod that has been a witness stays one, whatever becomes of
	// the label. Classic groups have no votes, so a witness does nothing there.
	WitnessLabel = "podesta.dev/witness"
	// WitnessTrue is the only value of WitnessLabel.
	WitnessTrue = "true"
	// SessionAnnotation of a pod says that its app keeps a session with its agent, if its value is
	// SessionRequired: without one its process is no candidate, from the start on.
	SessionAnnotation = "podesta.dev/session"
	// SessionRequired is the only value of SessionAnnotation.
	SessionRequired = "required"
	// WaitForVoteAnnotation, on a pod when it is created, with the value "false": the pod is ready
	// when its app is, and does not wait until its process votes.
	WaitForVoteAnnotation = "podesta.dev/wait-for-vote"
	// LeadAnnotation, on a pod when it is created, names containers, with commas between them. They
	// find the program lead in LeadDirectory (docs/guides/lead.md).
	LeadAnnotation = "podesta.dev/lead"
	// LeadDirectory is where the containers that LeadAnnotation names find lead.
	LeadDirectory = "/podesta/bin"
	// RoleLabel is set on the coordinator's pod only, with the value RoleCoordinator.
	RoleLabel = "podesta.dev/role"
	// RoleCoordinator is the value of RoleLabel.
	RoleCoordinator = "coordinator"
	// CoordinatorServiceSuffix is appended to a group's name to form the name of its Service.
	CoordinatorServiceSuffix = "-coordinator"
	// ForgetAnnotation is an annotation of a group that holds a ForgetRequest. It has no effect
	// once it has been carried out, or when the roster has changed since the request was made.
	ForgetAnnotation = "podesta.dev/forget"
	// AdoptAnnotation is an annotation of a group that holds an AdoptRequest.
	AdoptAnnotation = "podesta.dev/adopt"
	// StepDownAnnotation is an annotation of a group that holds a StepDownRequest. It has no effect
	// once it has been answered, but removing it ends a request that stands.
	StepDownAnnotation = "podesta.dev/step-down"
	// TrustConfigMap is the name of the ConfigMap with the CA bundle. The manager writes one, under
	// the key TrustKey, into every namespace that has a group.
	TrustConfigMap = "podesta-trust"
	// TrustKey is the key of the PEM bundle in TrustConfigMap.
	TrustKey = "ca.crt"
	// AgentContainer is the name of the agent's container in a pod. It is a native sidecar.
	AgentContainer = "podesta-agent"
	// LeaderLabel is set to "true" on the pod of the leading manager only. Service podesta-roster
	// selects it.
	LeaderLabel = "podesta.dev/leader"
	// Audience is the audience of the ServiceAccount tokens that agents present to join.
	Audience = "podesta.dev"
	// MaxProcesses is the largest number of processes in a group.
	MaxProcesses = 100
)
