package connlimit

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// A stranger's second call is refused while the first one is under way, and not afterwards. Another
// connection has a call of its own.
func TestAStrangerHasOneCallAtATime(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.InTapHandle(Single))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- server.Serve(New(l, Limits{Bytes: 1 << 20, Within: time.Minute})) }()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	one, other := dial(t, l.Addr()), dial(t, l.Addr())
	ctx, hangUp := context.WithCancel(t.Context())
	first, err := watch(ctx, one)
	if err != nil {
		t.Fatal("the first call:", err)
	}
	if _, err := watch(t.Context(), one); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a second call beside the first one: %v", err)
	}
	if _, err := watch(t.Context(), other); err != nil {
		t.Errorf("a call of another connection: %v", err)
	}
	hangUp()
	if _, err := first.Recv(); status.Code(err) != codes.Canceled {
		t.Fatal("the first call goes on:", err)
	}
	if _, err := watch(t.Context(), one); err != nil {
		t.Errorf("a call after the first one: %v", err)
	}
}

func dial(t *testing.T, to net.Addr) grpc_health_v1.HealthClient {
	t.Helper()
	c, err := grpc.NewClient(to.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return grpc_health_v1.NewHealthClient(c)
}

// watch begins a call that goes on until ctx ends, and hears what the server says first.
func watch(ctx context.Context, c grpc_health_v1.HealthClient) (grpc_health_v1.Health_WatchClient, error) {
	stream, err := c.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return nil, err
	}
	_, err = stream.Recv()
	return stream, err
}
