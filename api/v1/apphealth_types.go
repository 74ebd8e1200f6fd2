package v1

// AppHealth configures how each agent sees whether the app in its own pod works: by probes, or by
// the session that the app keeps with it. The fields mean the same as those of a container's probe.
// There is no host field: an agent probes 127.0.0.1 in its own pod, so a user who may edit the
// group cannot make agents connect to other hosts.
//
// +kubebuilder:validation:XValidation:rule="[has(self.httpGet), has(self.tcpSocket), has(self.grpc), has(self.session)].filter(x, x).size() == 1",message="spec.appHealth must set exactly one of httpGet, tcpSocket, grpc and session"
type AppHealth struct {
	// httpGet probes the app by HTTP or HTTPS. A status of 200 to 399 means healthy. Redirects are
	// followed within the same scheme and port only.
	// +optional
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty"`

	// tcpSocket opens a TCP connection. An app that accepts it is healthy.
	// +optional
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty"`

	// grpc uses the gRPC health checking protocol, without TLS. SERVING means healthy.
	// +optional
	GRPC *GRPCAction `json:"grpc,omitempty"`

	// session needs no probe: an app that has a session with its agent is healthy, from the instant
	// at which it opens one. It is for apps that keep one, as operators with client/kubernetes do. The
	// fields below do not count with it.
	// +optional
	Session *SessionAction `json:"session,omitempty"`

	// periodSeconds is the time between two probes.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	PeriodSeconds int32 `json:"periodSeconds,omitempty"`

	// timeoutSeconds is how long the app may take to answer a probe.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// failureThreshold is the number of consecutive failed probes after which the app is unhealthy.
	// +optional
	// +default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	FailureThreshold int32 `json:"failureThreshold,omitempty"`

	// successThreshold is the number of consecutive successful probes after which an unhealthy app
	// is healthy again. It is high by default, so that an app that keeps failing and recovering
	// costs its group one change of coordinator and not many.
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	SuccessThreshold int32 `json:"successThreshold,omitempty"`
}

// SessionAction has nothing to set.
type SessionAction struct{}

// URIScheme is HTTP or HTTPS, as in a container's probe.
//
// +kubebuilder:validation:Enum=HTTP;HTTPS
type URIScheme string

// The schemes of a probe.
const (
	URISchemeHTTP URIScheme = "HTTP"
	// URISchemeHTTPS: by TLS. Nobody checks the certificate: the app is in the agent's own pod, and a
	// kubelet does not check it either.
	URISchemeHTTPS URIScheme = "HTTPS"
)

// HTTPGetAction probes the app by HTTP or HTTPS.
type HTTPGetAction struct {
	// scheme is HTTP or HTTPS. With HTTPS, nobody checks the app's certificate, as in a container's
	// probe.
	// +optional
	// +default="HTTP"
	Scheme URIScheme `json:"scheme,omitempty"`

	// path is the path to request, with an optional query.
	// +optional
	// +default="/"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[!-~]*$') && isURL(self)",message="path must start with / and be a valid URL path: percent-encode spaces and non-ASCII characters (a space is %20)"
	Path string `json:"path,omitempty"`

	// port is the number of the app's port. Port names are not supported: the agent does not know
	// them.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// TCPSocketAction probes the app by opening a TCP connection.
type TCPSocketAction struct {
	// port is the number of the app's port. Port names are not supported: the agent does not know
	// them.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// GRPCAction probes the app by the gRPC health checking protocol.
type GRPCAction struct {
	// port is the number of the app's port. Port names are not supported: the agent does not know
	// them.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// service is the service name in the health check request. If absent or empty, the health of
	// the whole server is requested.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[!-~]*$')",message="service must consist of printable ASCII characters without spaces"
	Service *string `json:"service,omitempty"`
}
