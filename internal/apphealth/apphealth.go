// Package apphealth looks whether the app beside the agent is well: by HTTP, by TCP, or by the gRPC health protocol. A process
// whose app is ill is no candidate; it comes back when the app has been well for a while (damping), so that an app which
// flaps costs its group one change of coordinator and not many.
//
// What is not promised: that an app which answers does its work.
package apphealth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/podesta-dev/podesta/internal/roster"
)

// Check asks the app once; nil: it is well.
type Check func(ctx context.Context) error

// Probe is how an app is asked, and how its answers are judged.
type Probe struct {
	Check         Check
	Every, Within time.Duration // how often it is asked, and how long it may take to answer
	ToIll, ToWell int           // how many bad answers in a row make it ill, and how many good ones well again
}

// Parse makes a probe of a URL: http://HOST:PORT/PATH (any status below 400), tcp://HOST:PORT (it accepts), or
// grpc://HOST:PORT/SERVICE (SERVING; without SERVICE the server as a whole). It asks as often as a roster does by default.
func Parse(text string) (Probe, error) {
	p := Probe{Every: roster.HealthPeriod, Within: roster.HealthTimeout, ToIll: roster.HealthFailureThreshold, ToWell: roster.HealthSuccessThreshold}
	u, err := url.Parse(text)
	if err != nil {
		return p, err
	}
	if _, port, err := net.SplitHostPort(u.Host); err != nil || port == "" {
		return p, fmt.Errorf("%q: must name HOST:PORT, as in http://127.0.0.1:8080/healthz", text)
	}
	switch u.Scheme {
	case "http":
		p.Check = httpCheck(u.String())
	case "tcp":
		p.Check = tcpCheck(u.Host)
	case "grpc":
		p.Check = grpcCheck(u.Host, strings.TrimPrefix(u.Path, "/"))
	default:
		return p, fmt.Errorf("%q: must begin with http://, tcp:// or grpc://", text)
	}
	return p, nil
}

// At makes a probe of what a valid roster says, at the host on which the agent serves its own app; nil if the app is not asked.
// Nothing in the roster can turn it to another host: not the path, nor what the app answers.
func At(host string, h roster.AppHealth) *Probe {
	address := net.JoinHostPort(host, strconv.Itoa(int(h.Port)))
	p := &Probe{Every: h.Period, Within: h.Timeout, ToIll: int(h.FailureThreshold), ToWell: int(h.SuccessThreshold)}
	switch h.Handler {
	case roster.HTTPGet:
		u, err := url.ParseRequestURI(h.Path)
		if err != nil {
			return nil // no roster is valid with it
		}
		p.Check = httpCheck((&url.URL{Scheme: "http", Host: address, Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}).String())
	case roster.TCPSocket:
		p.Check = tcpCheck(address)
	case roster.GRPC:
		p.Check = grpcCheck(address, h.Service)
	default:
		return nil
	}
	return p
}

func httpCheck(target string) Check {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a redirect is an answer, as it is to a kubelet
	}}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode >= http.StatusBadRequest {
			return errors.New(response.Status)
		}
		return nil
	}
}

func tcpCheck(address string) Check {
	return func(ctx context.Context) error {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

func grpcCheck(address, service string) Check {
	return func(ctx context.Context) error {
		c, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
			grpc.WithDisableServiceConfig())
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		answer, err := grpc_health_v1.NewHealthClient(c).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil {
			return err
		}
		if answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			return errors.New(answer.GetStatus().String())
		}
		return nil
	}
}
