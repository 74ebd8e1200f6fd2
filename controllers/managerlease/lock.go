package managerlease

import (
	"context"
	"errors"
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
	// RenewWithin is how long after the last renewal the holder may still renew the Lease.
	RenewWithin time.Duration
	Logger      *slog.Logger
}

// Lock is the Lease. Like every lock of client-go it serves one elector, which uses it from one
// goroutine.
type Lock struct {
	*resourcelock.LeaseLock

	self        Holder
	inPod       bool
	renewWithin time.Duration
	logger      *slog.Logger
	holder      string    // of the Lease, as it was read or written last
	asked       time.Time // when the Lease was read last
	renewed     time.Time // when this manager has written itself last; zero: it has never led
	watched     *watch    // nil: nobody
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
		self:        o.Self,
		inPod:       o.InPod,
		renewWithin: o.RenewWithin,
		logger:      o.Logger,
	}, nil
}

// errTooLate ends the lead of a manager at once. It still has to stop, and the API server may be
// silent: client-go would ask it once more, to give the Lease back.
var errTooLate = errors.New("this manager has not renewed its Lease in time")

// Get returns the record of the Lease. Of a holder that has ended it says that nobody holds it:
// then the elector takes it.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	tooLate := !l.renewed.IsZero() && time.Since(l.renewed) > l.renewWithin
	stoodStill := time.Since(l.asked) > l.renewWithin // it may go on if nobody has taken the Lease
	if l.asked = time.Now(); tooLate && !stoodStill {
		return nil, nil, errTooLate
	}
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
	l.wrote(record.HolderIdentity)
	return nil
}

// Update writes the Lease. A record without a holder releases it, if it is ours: client-go releases
// it when a manager ends, and by then another one may hold it, because the port was closed before.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" && l.holder != l.Identity() {
		return nil
	}
	if err := l.LeaseLock.Update(ctx, record); err != nil {
		return err
	}
	l.wrote(record.HolderIdentity)
	return nil
}

func (l *Lock) wrote(holder string) {
	if l.holder = holder; holder == l.Identity() {
		l.renewed = time.Now()
	}
}
