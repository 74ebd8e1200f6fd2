package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/podesta-dev/podesta/internal/trace"
)

// forwardingServer is an API server with a pod for each address, to which it forwards port 4040. It
// speaks SPDY, as those do that know no WebSockets here.
type forwardingServer struct {
	t    *testing.T
	pods map[string]string
	said chan string // the paths that were asked for by POST
}

func (s *forwardingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost { // a WebSocket begins with GET
		http.Error(w, "no WebSockets here", http.StatusBadRequest)
		return
	}
	s.said <- r.URL.Path
	parts := strings.Split(r.URL.Path, "/")
	pod := parts[len(parts)-2]
	address, ok := s.pods[pod]
	switch {
	case pod == "forbidden":
		writeStatus(w, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod,
			errors.New("no RBAC policy matched")))
		return
	case !ok:
		writeStatus(w, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, pod))
		return
	}
	protocols := []string{portforward.PortForwardProtocolV1Name}
	if _, err := httpstream.Handshake(r, w, protocols); err != nil {
		s.t.Error(err)
		return
	}
	streams := make(chan httpstream.Stream, 2)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r,
		func(stream httpstream.Stream, _ <-chan struct{}) error {
			streams <- stream
			return nil
		})
	if connection == nil {
		s.t.Error("not upgraded")
		return
	}
	defer connection.Close()
	complaints, data := <-streams, <-streams
	if complaints.Headers().Get(corev1.StreamType) == corev1.StreamTypeData {
		complaints, data = data, complaints
	}
	s.forward(complaints, data, address)
	<-connection.CloseChan()
}

func writeStatus(w http.ResponseWriter, err *apierrors.StatusError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(err.ErrStatus.Code))
	_ = json.NewEncoder(w).Encode(err.ErrStatus)
}

// forward does what a node does.
func (s *forwardingServer) forward(complaints, data httpstream.Stream, address string) {
	defer complaints.Close()
	defer data.Close()
	if port := data.Headers().Get(corev1.PortHeader); port != "4040" {
		s.t.Errorf("port %s is asked for", port)
	}
	var dialer net.Dialer
	connection, err := dialer.DialContext(s.t.Context(), "tcp", address)
	if err != nil {
		_, _ = io.WriteString(complaints, "error forwarding port 4040: connection refused")
		return
	}
	defer connection.Close()
	go func() { _, _ = io.Copy(connection, data) }()
	_, _ = io.Copy(data, connection)
}

// One GET travels over the forwarded stream, and nothing else; what goes wrong is said in words
// that tell what to do.
func TestAgentsAreAskedOverAForwardedPort(t *testing.T) {
	asked := make(chan *http.Request, 10)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r
		_, _ = io.WriteString(w, `{"process": "p-1", "elections": [{"number": 7}]}`)
	}))
	defer agent.Close()
	old := httptest.NewServer(http.NotFoundHandler())
	defer old.Close()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	forwarding := &forwardingServer{
		t: t,
		pods: map[string]string{
			"p-1":    agent.Listener.Addr().String(),
			"old":    old.Listener.Addr().String(),
			"silent": silent.Addr().String(),
			"closed": "127.0.0.1:1",
		},
		said: make(chan string, 10),
	}
	server := httptest.NewServer(forwarding)
	defer server.Close()
	config := &rest.Config{Host: server.URL + "/behind/a/proxy"}
	ask := func(pod string) (trace.Accounts, error) {
		within := 10 * time.Second
		if pod == "silent" {
			within = 2 * time.Second // until then it is connected, also on a busy machine
		}
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		return askAgent(ctx, config, "shop", pod, 4040)
	}

	told, err := ask("p-1")
	if err != nil || told.Process != "p-1" || len(told.Elections) != 1 ||
		told.Elections[0].Number != 7 {
		t.Fatalf("it tells %+v, %v", told, err)
	}
	if path := <-forwarding.said; path !=
		"/behind/a/proxy/api/v1/namespaces/shop/pods/p-1/portforward" {
		t.Errorf("it was asked for %s", path)
	}
	if r := <-asked; r.Method != http.MethodGet || r.URL.Path != "/v1/elections" ||
		r.Header.Get("Podesta-Session") != "" {
		t.Errorf("the agent was asked for %s %s, %v", r.Method, r.URL, r.Header)
	}
	if len(asked) > 0 {
		t.Error("the agent was asked for more")
	}
	for pod, want := range map[string]string{
		"forbidden": errNoRight.Error(),
		"gone":      "there is no such pod",
		"old":       "its agent answers 404",
		"closed":    "connection refused",
		"silent":    context.DeadlineExceeded.Error(),
	} {
		if _, err := ask(pod); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pod, err, want)
		}
	}
	if _, err := ask("forbidden"); !errors.Is(err, errNoRight) {
		t.Errorf("without the right: %v", err)
	}
}
