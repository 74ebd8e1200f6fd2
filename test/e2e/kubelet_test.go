package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubelet is what the API server of the local cluster forwards ports through: the cluster has no
// kubelet. Its pods have addresses of their own on this machine, where a pod's loopback address
// would be.
type kubelet struct {
	t     *testing.T
	group *group
}

// serveKubelet serves the port-forwarding of the cluster's node until the test ends.
func (g *group) serveKubelet() {
	g.t.Helper()
	server := httptest.NewTLSServer(&kubelet{g.t, g})
	g.t.Cleanup(server.Close)
	address, ok := server.Listener.Addr().(*net.TCPAddr)
	if !ok {
		g.t.Fatalf("the kubelet listens on %v", server.Listener.Addr())
	}
	node := &corev1.Node{}
	g.must(g.Get(g.t.Context(), client.ObjectKey{Name: "local"}, node))
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(address.Port)
	g.must(g.Status().Update(g.t.Context(), node))
}

func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) < 3 || parts[0] != "portForward" || parts[1] != k.group.Namespace {
		http.NotFound(w, r)
		return
	}
	pods, err := k.group.Pods(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	protocols := []string{portforward.PortForwardProtocolV1Name}
	if _, err := httpstream.Handshake(r, w, protocols); err != nil {
		k.t.Error(err)
		return
	}
	streams := make(chan httpstream.Stream, 2)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if connection == nil {
		return
	}
	defer connection.Close()
	for by := map[string]httpstream.Stream{}; len(by) < 2; {
		select {
		case s := <-streams:
			by[s.Headers().Get(corev1.StreamType)] = s
			if len(by) == 2 {
				forward(r.Context(), pods[parts[2]].Status.PodIP, by[corev1.StreamTypeError], by[corev1.StreamTypeData])
			}
		case <-connection.CloseChan():
			return
		}
	}
	<-connection.CloseChan()
}

// forward connects a stream with a port of a pod.
func forward(ctx context.Context, ip string, complaints, data httpstream.Stream) {
	defer complaints.Close()
	defer data.Close()
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(ip, data.Headers().Get(corev1.PortHeader)))
	if err != nil {
		fmt.Fprintf(complaints, "an error occurred forwarding: %v", err)
		return
	}
	defer connection.Close()
	go func() { _, _ = io.Copy(connection, data) }()
	_, _ = io.Copy(data, connection)
}
