package display

import (
	"strings"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// advice is what docs/reference/status.md says of a reason: what it means, if the manager's message
// does not say that, and what to do.
type advice struct{ means, do string }

// adviceOn returns what is known of a reason of a condition; nothing if it is not known.
func (s *subject) adviceOn(kind, reason string) advice {
	known, ok := reasons[kind][reason]
	if !ok && kind == v1.ConditionReconciling { // it may have any reason of the other one
		known = reasons[v1.ConditionCoordinatorElected][reason]
	}
	fill := strings.NewReplacer("GROUP", name(s.group.Name), "NAMESPACE", name(s.group.Namespace),
		"PODS", strings.Join(s.podsFor(reason), " "), "POD", s.podsFor(reason)[0])
	return advice{means: known.means, do: fill.Replace(known.do)}
}

// podsFor returns the pods to look at, the highest first; POD if there is none.
func (s *subject) podsFor(reason string) (names []string) {
	standing := StandingCandidate
	switch reason {
	case "ProcessesCrashed":
		standing = StandingCrashed
	case "ProcessesNotAnswering":
		standing = StandingNotAnswering
	case "ProcessesUnknown", "NoReports":
		standing = StandingSilent
	}
	for _, p := range s.processes {
		if p.Standing == standing || standing == StandingSilent && p.State == string(v1.ProcessUnknown) &&
			p.Agent == "" {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return []string{"POD"}
	}
	return names
}

const (
	waitForIt = "Wait. If it lasts, read the log of the highest candidate's agent: " +
		"kubectl logs POD -c podesta-agent -n NAMESPACE."
	checkLinks = "Wait. If it lasts, mend the missing links, which condition Degraded names."
	upgrade    = "Install the release that the message names: docs/guides/upgrade.md."
)

// reasons has every reason of docs/reference/status.md, by condition.
var reasons = map[string]map[string]advice{
	v1.ConditionCoordinatorElected: {
		"NoProcesses":  {do: "Label the pod template podesta.dev/group: GROUP."},
		"NoVoters":     {do: "Wait. If no pod joins, check that the pods run the agent."},
		"Electing":     {do: waitForIt},
		"LeaseRunning": {do: "Wait for one lease."},
		"NoMajority": {
			do: "Find out why the processes that are Crashed, NotAnswering or Unknown do not run, or do " +
				"not report: kubectl get pods -l podesta.dev/group=GROUP -n NAMESPACE.",
		},
		"ViewsDiffer": {do: checkLinks},
		"NoCandidate": {
			do: "Mend the apps, or their health check (docs/guides/app-health.md); have them open " +
				"their sessions; or give a process a priority above 0.",
		},
		"StaleViews": {
			means: "This cannot happen by itself: a state directory was restored, or an agent lies.",
			do:    "Restart the pods that follow a lower epoch.",
		},
		"NoReports": {
			means: "Elections continue without the manager. The status shows what was last seen.",
			do: "Check that the manager runs, and that agents reach it: kubectl get pods -n " +
				"podesta-system; kubectl logs POD -c podesta-agent -n NAMESPACE.",
		},
	},
	v1.ConditionDegraded: {
		"ProcessesCrashed": {do: "Find out why: kubectl describe pod PODS -n NAMESPACE."},
		"ProcessesNotAnswering": {
			means: "They stand still, or the network does not reach them. They may act until their " +
				"leases end.",
			do: "Look at their pods and nodes: kubectl get pods PODS -n NAMESPACE -o wide. A pod that " +
				"stands still is mended by: kubectl delete pod POD -n NAMESPACE.",
		},
		"ViewsDiffer": {do: checkLinks},
		"NotLinked": {
			means: "The one cannot send to the other. Elections may take longer, or find no majority.",
			do: "Mend what the message names: a network policy or a path between two nodes, a clock, or " +
				"a process that hangs.",
		},
		"ContainersFailing": {
			means: "The agents beside them run and vote.",
			do:    "Find out why: kubectl describe pod -n NAMESPACE, with the names that the message has.",
		},
		"AgentMissing": {
			do: "Restart the workloads that the message names. Before Kubernetes 1.36, or without " +
				"the injection policy, apply the manifest through kubectl election inject -f FILE (with " +
				"--image, if your agents are of another registry).",
		},
		"ProcessesUnknown": {
			do: "Read the agent's log: kubectl logs POD -c podesta-agent -n NAMESPACE.",
		},
		"PodsMislabelled": {
			means: "These pods run, and take part in no group.",
			do:    "Correct the label in the pod template, as the message says, or create that group.",
		},
		"ProcessesMissing": {
			means: "The others elect without them.",
			do: "Correct the names in spec.processes, or start these pods: kubectl get pods -n " +
				"NAMESPACE.",
		},
		"TrustNotRestored": {
			means: "New pods may not join. What runs is not affected.",
			do:    "Remove what keeps the manager from restoring it, as the message says.",
		},
		"RulesUnsupported": {
			do: "Bring all pods and the manager to the same release, one release at a time: " +
				"docs/guides/upgrade.md.",
		},
		"ForgetIgnored": {
			do: "Remove the annotation, as the message says, and use kubectl election forget.",
		},
		"StepDownIgnored": {
			do: "Remove the annotation, as the message says, and use kubectl election step-down.",
		},
		"AdoptIgnored": {
			do: "Remove the annotation, as the message says, and use kubectl election adopt.",
		},
		"WitnessRefused": {do: "Delete the workload that the message names."},
		"WitnessWanted": {
			do: "Add a witness, on a node of its own (docs/guides/two-replicas.md): kubectl election " +
				"witness GROUP -n NAMESPACE | kubectl apply -f -. Or add a third replica.",
		},
		"PriorityDefaulted": {
			do: "List the value or label the pod template, as the message says; or name the pods in " +
				"spec.processes: docs/guides/priorities.md.",
		},
		"TimingAdjusted": {
			do: "Set the field that the message names, or take another profile: docs/guides/timing.md.",
		},
	},
	v1.ConditionReconciling: {
		"RosterSpreading": {means: "That takes a moment."},
		"RosterWaiting":   {means: "That takes a moment."},
		"VotersChanging":  {means: "The coordinator stays."},
	},
	v1.ConditionStalled: {
		"StatusSetBack": {
			do: "Bring the voters back; or see kubectl election adopt GROUP -n NAMESPACE, which " +
				"changes nothing before you confirm: docs/guides/operations.md.",
		},
		"MajorityLost": {
			do: "Bring the voters back. Only if they have certainly ended, see kubectl election " +
				"forget GROUP -n NAMESPACE, which changes nothing before you confirm: " +
				"docs/guides/operations.md.",
		},
		"ManagerOutdated":  {do: upgrade},
		"ManagerTooNew":    {do: upgrade},
		"TooManyProcesses": {do: "Remove the label from some pods."},
		"NoCandidate": {
			do: "Give a process a priority above 0: kubectl edit eg GROUP -n NAMESPACE. If only " +
				"witnesses run, start the group's other pods.",
		},
		"RoleLabelRefused": {
			means: "Elections continue. The group's Service may lead to nobody, or to a former coordinator.",
			do:    "What the message says: docs/guides/routing.md.",
		},
		"ServiceNameTaken": {
			means: "Elections continue.",
			do:    "What the message says: docs/guides/routing.md.",
		},
		"ServiceRefused": {
			means: "Elections continue.",
			do:    "What the message says: docs/guides/routing.md.",
		},
	},
	"": {
		reasonNoStatus: {do: "Check that the manager runs: kubectl get pods -n podesta-system."},
		reasonNotRead: {
			do: "Wait. If it lasts, check that the manager runs: kubectl get pods -n podesta-system.",
		},
		string(v1.NotCandidateUnhealthy): {do: "Mend the app, or its health check: " +
			"docs/guides/app-health.md."},
		string(v1.NotCandidateNoSession): {do: "Have the app open its session: it may hang, " +
			"have lost it and not come back, or not have begun yet."},
	},
}
