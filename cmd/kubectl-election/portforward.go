package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/podesta-dev/podesta/internal/trace"
)

// An agent serves its accounts of elections on the loopback address of its pod, so that nobody but
// the pod reaches them. Port-forwarding does: it connects from within the pod. The API server's pod
// proxy does not: it connects to the pod's address. So whoever asks needs the verb create on
// pods/portforward, and no other right in the pod.
//
// No port is opened on this machine: what is forwarded is one stream, on which one GET is written.
// So nothing else that runs here reaches the app API meanwhile, by which it could open a session.

// agents asks the agent of a pod for its accounts.
type agents func(ctx context.Context, namespace, pod string, port int) (trace.Accounts, error)

// views asks the agent of a pod whom it follows.
type views func(ctx context.Context, namespace, pod string, port int) (view, error)

// view is what an agent answers at GET /v1/coordinator.
type view struct {
	Name string `json:"name"` // empty while there is none
	Self string `json:"self"`
}

// errNoRight is why an agent could not be asked: the user may not.
var errNoRight = errors.New("forwarding ports to pods is forbidden")

// agents returns how agents of this cluster are asked.
func (c *cluster) agents() (agents, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, namespace, pod string, port int) (trace.Accounts, error) {
		return askAgent(ctx, config, namespace, pod, port)
	}, nil
}

// views returns how agents of this cluster are asked whom they follow.
func (c *cluster) views() (views, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, namespace, pod string, port int) (v view, err error) {
		q := question{"/v1/coordinator", func(status int, body io.Reader) error {
			if status != http.StatusOK && status != http.StatusServiceUnavailable { // nobody
				return &agentError{status}
			}
			return json.NewDecoder(io.LimitReader(body, 1<<16)).Decode(&v)
		}}
		err = q.ask(ctx, config, namespace, pod, port)
		return v, err
	}, nil
}

func askAgent(ctx context.Context, config *rest.Config, namespace, pod string,
	port int) (a trace.Accounts, err error) {
	q := question{"/v1/elections", func(status int, body io.Reader) (err error) {
		if status != http.StatusOK {
			return &agentError{status}
		}
		a, err = trace.Read(body)
		return err
	}}
	err = q.ask(ctx, config, namespace, pod, port)
	return a, err
}

// question is one GET to an agent.
type question struct {
	path string
	read func(status int, body io.Reader) error
}

// ask asks the agent of a pod.
func (q question) ask(
	ctx context.Context, config *rest.Config, namespace, pod string, port int,
) error {
	dialer, err := forwardingDialer(config, namespace, pod)
	if err != nil {
		return err
	}
	type dialed struct {
		connection httpstream.Connection
		err        error
	}
	done := make(chan dialed, 1)
	go func() { // the dialer knows no context; what it opens too late ends with the command
		connection, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		done <- dialed{connection, err}
	}()
	select {
	case d := <-done:
		if d.err != nil {
			return forwardError(d.err)
		}
		defer context.AfterFunc(ctx, func() { _ = d.connection.Close() })()
		defer d.connection.Close() //nolint:errcheck // everything has been read
		err := q.over(ctx, d.connection, port)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// forwardingDialer forwards as kubectl does: over a WebSocket, or over SPDY if the API server, or a
// proxy before it, does not take that.
func forwardingDialer(config *rest.Config, namespace, pod string) (httpstream.Dialer, error) {
	address, path, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	target := address.JoinPath(path, "api/v1/namespaces", url.PathEscape(namespace), "pods",
		url.PathEscape(pod), "portforward")
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: transport}
	old := spdy.NewDialerForStreaming(upgrader, client, http.MethodPost, target)
	tunnel, err := portforward.NewSPDYOverWebsocketDialerForStreaming(target, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(tunnel, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// over asks over a connection to the pod.
func (q question) over(ctx context.Context, connection httpstream.Connection, port int) error {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	complaints, err := connection.CreateStream(headers)
	if err != nil {
		return err
	}
	_ = complaints.Close() // nothing is written to it
	said := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(complaints, 1000))
		said <- strings.TrimSpace(string(text))
	}()
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		return err
	}
	defer data.Reset() //nolint:errcheck // everything has been read
	err = q.get(ctx, data)
	if err == nil {
		return nil
	}
	if _, refused := errors.AsType[*agentError](err); refused {
		return err
	}
	if text := <-said; text != "" { // of the node, and more to the point
		return errors.New(text)
	}
	return err
}

// agentError is an answer of an agent that is no answer to the question.
type agentError struct{ status int }

func (e *agentError) Error() string { return fmt.Sprintf("its agent answers %d", e.status) }

// get asks over an open stream.
func (q question) get(ctx context.Context, stream io.ReadWriter) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1"+q.path,
		http.NoBody)
	if err != nil {
		return err
	}
	request.Close = true
	if err := request.Write(stream); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(io.LimitReader(stream, 2*trace.MaxBytes)),
		request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return q.read(response.StatusCode, response.Body)
}

// forwardError is what an API server said that does not forward. The library keeps the text only.
func forwardError(err error) error {
	switch text := err.Error(); {
	case apierrors.IsForbidden(err), strings.Contains(text, "forbidden"):
		return errNoRight
	case apierrors.IsNotFound(err), strings.Contains(text, " not found"):
		return errors.New("there is no such pod")
	default:
		return err
	}
}
