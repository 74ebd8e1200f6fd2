package v1

// AdoptRequest is the JSON value of AdoptAnnotation. With it an operator says which roster of a
// group counts whose status was set back (SetBackStatus). It applies until agents report a newer
// generation than the operator saw; otherwise the manager ignores it.
type AdoptRequest struct {
	// generation is that of the roster that counts: status.setBack.held or status.roster.generation,
	// or 0 if there is no roster.
	Generation int64 `json:"generation"`

	// newest is status.setBack.newest as the operator saw it.
	Newest int64 `json:"newest"`
}

// SetBackStatus says that agents use a newer roster than the status holds, because a backup was
// restored or the status was wiped. The manager changes nothing until one of the two counts.
type SetBackStatus struct {
	// newest is the newest generation that agents report.
	// +required
	// +kubebuilder:validation:Minimum=1
	Newest int64 `json:"newest,omitempty"`

	// held is the generation of the newest roster that an agent has shown the manager, and that a
	// manager signed. Absent if there is none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Held int64 `json:"held,omitempty"`
}
