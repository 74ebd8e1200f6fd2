package managerlease

import (
	"context"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Options say which Lease, and for whom.
type Options struct {
	Namespace, Name string
	// Self is this manager. Its address is where it listens when it leads.
	Self Holder
	// InPod: Self.Pod is the name of a pod, so nobody else has it.
	InPod bool
	// RequestTimeout is how long the API server may take to answer.
	RequestTimeout time.Duration
	Logger         *slog.Logger
}

// Lock is the Lease. Like every lock of client-go it serves one elector, which uses it from one
// goroutine.
type Lock struct {
	*resourcelock.LeaseLock

	self    Holder
	inPod   bool
	logger  *slog.Logger
	holder  string // of the Lease, as it was read or written last
	watched *watch // nil: nobody
}

// New returns the Lease, which is asked for by a client of its own. Events are recorded if
// LockConfig.EventRecorder is set before the election begins.
func New(config *rest.Config, o Options) (*Lock, error) {
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.Timeout = o.RequestTimeout
	client, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Lock{
		LeaseLock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
			Client:     client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.Self.String()},
		},
		self:   o.Self,
		inPod:  o.InPod,
		logger: o.Logger,
	}, nil
}

// Get returns the record of the Lease. Of a holder that has ended it says that nobody holds it: then
// the elector takes it.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.LeaseLock.Get(ctx)
	if err != nil {
		return nil, nil, err
	}
	l.holder = record.HolderIdentity
	if l.holderHasEnded(ctx) {
		l.logger.Info("the manager that held the Lease has ended: it need not expire", "holder", l.holder)
		record.HolderIdentity = ""
	}
	return record, raw, nil
}

// Create makes the Lease.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if err := l.LeaseLock.Create(ctx, record); err != nil {
		return err
	}
	l.holder = record.HolderIdentity
	return nil
}

// Update writes the Lease. A record without a holder gives it back, but not if it is another's:
// client-go asks for that of a manager that ends, which closes its port before, so another one may
// have taken the Lease already.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" && l.holder != l.Identity() {
		return nil
	}
	if err := l.LeaseLock.Update(ctx, record); err != nil {
		return err
	}
	l.holder = record.HolderIdentity
	return nil
}
