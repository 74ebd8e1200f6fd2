package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/pathmtu"
)

// The bounds of the ports for probes and metrics, which show no certificates. The servers of
// controller-runtime take headers of 1 MiB for half a minute, on any number of connections.
const (
	requestBytes  = 16 << 10 // of headers; the longest token of a ServiceAccount is a few KiB
	requestWithin = 5 * time.Second
	answerWithin  = 20 * time.Second
	closeWithin   = time.Second // of the end of the manager
)

// sockets is how the manager listens on all of its ports.
var sockets = net.ListenConfig{Control: pathmtu.Control}

// listen opens a port for strangers. Its connections carry one request each, over TLS or not.
func listen(ctx context.Context, name, address string, secure bool) (net.Listener, error) {
	listener, err := sockets.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", name, err)
	}
	limits := connlimit.Limits{Bytes: requestBytes, Within: requestWithin + answerWithin}
	if secure {
		limits.Bytes, limits.Unanswered = 2*requestBytes, connlimit.HelloBytes
	}
	return connlimit.New(listener, limits), nil
}

// serve has the manager serve a handler, whether it leads or not.
func serve(mgr ctrl.Manager, name string, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           handler,
		MaxHeaderBytes:    requestBytes,
		ReadHeaderTimeout: requestWithin,
		ReadTimeout:       requestWithin,
		WriteTimeout:      answerWithin,
		// failed handshakes: whoever wants to can make any number of them
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	server.SetKeepAlivesEnabled(false)
	return mgr.Add(&manager.Server{
		Name:            name,
		Server:          server,
		Listener:        connlimit.Lines(listener, connlimit.HeaderLines),
		ShutdownTimeout: new(closeWithin),
	})
}

// addProbes serves /healthz and /readyz. A manager is ready once its caches are filled.
func addProbes(ctx context.Context, mgr ctrl.Manager, address string) error {
	if address == "0" {
		return nil
	}
	listener, err := listen(ctx, "probes", address, false)
	if err != nil {
		return err
	}
	filled := func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{
		"/healthz": {"ping": healthz.Ping},
		"/readyz":  {"caches": filled},
	} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	return serve(mgr, "probes", listener, mux)
}

// secured returns a listener with TLS 1.3. A scraper needs no HTTP/2, nor its attacks.
func secured(l net.Listener, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error),
) net.Listener {
	return tls.NewListener(l, &tls.Config{
		MinVersion:     tls.VersionTLS13,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: certificate,
	})
}
