package v1

// AppHealth says how an agent asks whether the app in its own pod is well; its fields mean what those of a container's probe mean.
// There is no host: an agent asks at 127.0.0.1, in its own pod, so that nobody who edits a group can make agents ask elsewhere.
//
// +kubebuilder:validation:XValidation:rule="[has(self.httpGet), has(self.tcpSocket), has(self.grpc)].filter(x, x).size() == 1",message="spec.appHealth must have exactly one of httpGet, tcpSocket and grpc"
type AppHealth struct {
	// httpGet asks by HTTP: any status below 400 is well. Redirects are not followed.
	// +optional
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty"`

	// tcpSocket opens a connection: an app that accepts it is well.
	// +optional
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty"`

	// grpc asks by the gRPC health protocol, without TLS: SERVING is well.
	// +optional
	GRPC *GRPCAction `json:"grpc,omitempty"`

	// periodSeconds is how often the app is asked.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	PeriodSeconds int32 `json:"periodSeconds,omitempty"`

	// timeoutSeconds is within what time the app is to answer.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// failureThreshold is how many bad answers in a row make the app ill.
	// +optional
	// +default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	FailureThreshold int32 `json:"failureThreshold,omitempty"`

	// successThreshold is how many good answers in a row make an ill app well again. It is high, so that an app which comes
	// and goes costs its group one change of coordinator and not many.
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	SuccessThreshold int32 `json:"successThreshold,omitempty"`
}

// HTTPGetAction asks by HTTP.
type HTTPGetAction struct {
	// path is what is asked for, with its query if there is one.
	// +optional
	// +default="/"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[!-~]*$') && isURL(self)",message="path must begin with / and be a URL's path: write blanks and what is not ASCII as %20 and so on"
	Path string `json:"path,omitempty"`

	// port is the number of the app's port. Names of ports are not known here.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// TCPSocketAction opens a connection.
type TCPSocketAction struct {
	// port is the number of the app's port. Names of ports are not known here.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// GRPCAction asks by the gRPC health protocol.
type GRPCAction struct {
	// port is the number of the app's port. Names of ports are not known here.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// service is what the health protocol is asked for. Absent or empty, it is the server as a whole.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[!-~]*$')",message="service must be ASCII without blanks"
	Service *string `json:"service,omitempty"`
}
