// Package controllers reflects elections into the cluster: it says who is in a group (the roster, out to the agents) and
// writes what the agents report into the group's status, labels, events and metrics. It elects nobody: elections go on
// without it.
//
// Every pass is observe (all reads) → decide (pure functions) → apply (all writes, only where something differs). Of the
// status that was published, status.roster alone is an input; what else is read back serves display (since when, what has
// changed) and the promise that a manager that starts shows nothing false: the last view stays until agents have reported.
//
// What is not promised: that status shows every election. Reports are gathered for about 100 ms, then one write is made.
package controllers

// The manager may do what follows, no more. A line here is a rule in config/rbac.
//
// +kubebuilder:rbac:groups=podesta.dev,resources=electiongroups,verbs=get;list;watch
// +kubebuilder:rbac:groups=podesta.dev,resources=electiongroups/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=podesta-trust,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups="",namespace=podesta-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=podesta-system,resources=secrets,resourceNames=podesta-ca,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=podesta-system,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=podesta-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=podesta-system,resources=leases,resourceNames=podesta-manager,verbs=get;update
