// Package controllers puts the manager together, and holds what it may do in the cluster (the RBAC
// markers below). Each controller has a folder:
//
//	group        ElectionGroups: rosters out, reports in; status, Service, role label, events
//	ca           the certificate authority in its Secret, and the bundle of trusted authorities
//	agentserver  the server that agents talk to, and who may join
//	byuid        writes to one very object
//	apiclock     the API server's time, beside this machine's
//	managerlease the Lease by which one of several managers leads
package controllers

// The manager may do what follows and nothing else. Each line is a rule in config/rbac.
//
// +kubebuilder:rbac:groups=podesta.dev,resources=electiongroups,verbs=list;watch
// +kubebuilder:rbac:groups=podesta.dev,resources=electiongroups/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=podesta-trust,verbs=list;watch;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups="",namespace=podesta-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=podesta-system,resources=secrets,resourceNames=podesta-ca,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=podesta-system,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=podesta-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=podesta-system,resources=leases,resourceNames=podesta-manager,verbs=get;update
