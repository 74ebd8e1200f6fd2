package podesta

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/internal/fakeagent"
	kubernetes "github.com/podesta-dev/podesta/client/kubernetes"
)

const (
	long     = time.Minute // a permission that does not end during a test, unless nobody renews it
	patience = 2 * time.Minute
)

// operator is an operator: a manager with one runnable, an agent beside it, and an API server that
// counts what it is asked.
type operator struct {
	t        *testing.T
	agent    *fakeagent.Agent
	client   *agent.Client
	lock     Lock
	asked    atomic.Int64
	begun    chan context.Context // the runnable's
	finish   chan struct{}        // closed: the runnable returns when its context has ended
	finished chan struct{}
	stop     context.CancelFunc
	result   chan error
}

// run starts an operator by the one line, and edits its options before.
func run(t *testing.T, edit func(*operator, *manager.Options)) *operator {
	t.Helper()
	o := &operator{
		t:        t,
		agent:    fakeagent.Start(),
		begun:    make(chan context.Context, 1),
		finish:   make(chan struct{}),
		finished: make(chan struct{}),
		result:   make(chan error, 1),
	}
	t.Cleanup(o.agent.Close)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Logf("the API server is asked: %s %s", r.Method, r.URL)
		o.asked.Add(1)
		http.Error(w, "out of order", http.StatusInternalServerError)
	}))
	t.Cleanup(api.Close)
	options := manager.Options{MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
		return meta.NewDefaultRESTMapper(nil), nil
	}}
	withoutMetrics(&options)
	o.client = &agent.Client{URL: o.agent.URL}
	if edit != nil {
		edit(o, &options)
	}
	o.lock = NewLock(o.client).WithoutExit() // or it would end the tests
	if err := o.lock.LeaderElection(&options); err != nil {
		t.Fatal(err)
	}
	m, err := manager.New(&rest.Config{Host: api.URL}, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		o.begun <- ctx
		<-ctx.Done()
		<-o.finish
		close(o.finished)
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	o.stop = stop
	t.Cleanup(stop)
	go func() { o.result <- m.Start(ctx) }()
	return o
}

// withoutMetrics has the manager serve no metrics; the option has another name since v0.16.
func withoutMetrics(options *manager.Options) {
	v := reflect.ValueOf(options).Elem()
	if old := v.FieldByName("MetricsBindAddress"); old.IsValid() {
		old.SetString("0")
		return
	}
	v.FieldByName("Metrics").FieldByName("BindAddress").SetString("0")
}

// leads waits until the runnable runs.
func (o *operator) leads() context.Context {
	o.t.Helper()
	return receive(o.t, o.begun, "the operator does not lead")
}

// ends waits until the runnable's context has ended, and returns why.
func (o *operator) ends(ctx context.Context) error {
	o.t.Helper()
	receive(o.t, ctx.Done(), "the runnable is not told to stop")
	return context.Cause(ctx)
}

// returned waits until the manager has.
func (o *operator) returned() error {
	o.t.Helper()
	return receive(o.t, o.result, "Start does not return")
}

func receive[T any](t *testing.T, from <-chan T, otherwise string) (received T) {
	t.Helper()
	select {
	case received = <-from:
	case <-time.After(patience):
		t.Fatal(otherwise)
	}
	return received
}

// lost checks that the lock stays lost.
func lost(t *testing.T, l Lock) {
	t.Helper()
	if _, _, err := l.Get(t.Context()); !errors.Is(err, kubernetes.ErrLost) {
		t.Errorf("Get: %v; want ErrLost", err)
	}
}
