package podesta

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/internal/boottime"
	"github.com/podesta-dev/podesta/client/kubernetes/internal/timing"
)

var (
	// ErrLost means that this replica has led and does so no longer, or was told to stop. It is
	// final: the program ends, and is started again as another candidate. A permission that ends
	// before the replica leads is not lost in this sense: it remains a candidate.
	ErrLost = errors.New("this replica no longer leads")
	// ErrBare means that a Lock was given to client-go by itself, which would lead on after it is
	// lost.
	ErrBare = errors.New("use the lock by its method Lead, or by package controllerruntime: " +
		"client-go alone leads on after the permission has ended")
)

// Lock is held while the agent permits this process to act; once. It implements
// resourcelock.Interface for Lead and for package controllerruntime, which see to it that nothing
// leads on when it is lost. Safe for concurrent use.
type Lock struct {
	agent    *agent.Client
	exit     func(why error) // ends the process; nil: see WithoutExit
	identity string
	lease    resourcelock.Interface // to be held as well; nil: there is none

	campaign sync.Once
	loss     chan struct{} // closed when what has led does so no longer
	done     chan struct{} // closed when all that leads has ended, so that the rest can be given back
	end      context.CancelFunc
	running  context.Context // of the candidacy: it ends with the lock

	epoch  atomic.Int64 // 0: nothing is permitted
	leased atomic.Bool  // it has tried to get the Lease

	mu      sync.Mutex
	inUse   bool
	granted chan struct{}                     // closed while there is a permission
	leads   context.Context                   // the work's, see agent.Run; nil: there is no permission
	begun   bool                              // the elector leads by it, so that a loss is final
	lost    error                             // why; nil: it is not lost
	record  resourcelock.LeaderElectionRecord // what the elector has written
	bases   []context.CancelCauseFunc         // of what leads
	stopped bool                              // all that led has ended

	leaseAlarm *boottime.Alarm // nil before the Lease was written
	leaseUntil time.Duration   // when the Lease has run out, as a reading of the alarm's clock
	leaseLasts time.Duration
}

// NewLock returns a lock that asks this agent; nil means the one of this pod (see
// agent.Client.URL). Failures to reach it are logged, by klog, unless the client has a Report. The
// session that makes this process a candidate is opened when the election begins, not here.
func NewLock(client *agent.Client) *Lock {
	if client == nil {
		client = &agent.Client{}
	}
	name, err := os.Hostname() // for people only: nobody else sees this lock
	if err != nil {
		name = "this process"
	}
	l := &Lock{
		exit:     agent.Exit,
		identity: name,
		granted:  make(chan struct{}),
		loss:     make(chan struct{}),
		done:     make(chan struct{}),
	}
	l.agent = reporting(client)
	l.agent.Overdue = l.overdue
	l.running, l.end = context.WithCancel(context.Background())
	return l
}

// WithoutExit returns the lock, which does not end the process any more. It is for programs that
// stop in time by themselves: all that leads must have stopped before the permission ends, of which
// a quarter is left when the contexts end. Call WithoutExit before the lock is used.
func (l *Lock) WithoutExit() *Lock {
	l.exit = nil
	return l
}

// Take takes the lock for an elector that somebody else makes, with the times of package timing, as
// package controllerruntime does. It returns what the contexts of all that leads are to be made by:
// they end when the lock is lost. If what leads has not ended by then, the process ends.
func (l *Lock) Take() (bind func(context.Context) context.Context, err error) {
	if err := l.use(); err != nil {
		return nil, err
	}
	return func(parent context.Context) context.Context {
		if l.running.Err() != nil {
			l.agent.Report(errTakenBefore)
		}
		return l.bind(parent)
	}, nil
}

var errTakenBefore = errors.New("what is made with a lock that was lost never leads: make a lock, " +
	"and options, for each manager")

// use marks the lock as taken, so that no second elector, and no bare one, leads by it.
func (l *Lock) use() error {
	if err := l.agent.Check(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inUse {
		return errors.New("this lock is in use: make another one for each manager")
	}
	l.inUse = true
	return nil
}

// After the agent has refused for good, in a Classic group for example, it is asked again: groups
// are made anew. In a Classic group each session may have this process elected, and its end has it
// withdraw, so the waits double.
const (
	askAgain       = time.Second
	askAgainAtMost = time.Minute
)

// run is the process's candidacy, and its permissions until it leads by one.
func (l *Lock) run() {
	for wait := askAgain; l.running.Err() == nil; wait = min(2*wait, askAgainAtMost) {
		err := l.agent.Run(l.running, l.hold)
		if err == nil || l.running.Err() != nil {
			break
		}
		l.agent.Report(err)
		select {
		case <-time.After(wait):
		case <-l.running.Done():
		}
	}
	l.lose(agent.ErrPermissionOver) // unless it is
}

// hold is the work of agent.Run. The leading work may go on after its contexts have ended. Run
// closes the session when that work has stopped, or when the permission is over, whichever is
// first.
func (l *Lock) hold(ctx context.Context, epoch agent.Epoch) error {
	l.grant(ctx, epoch)
	<-ctx.Done()
	if l.over(ctx) {
		<-l.done
	}
	return nil
}

// grant takes a permission.
func (l *Lock) grant(ctx context.Context, epoch agent.Epoch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leads = ctx
	l.epoch.Store(int64(epoch))
	close(l.granted)
}

// over takes the end of a permission. If the elector leads by it, that is final: what leads may go
// on for a moment.
func (l *Lock) over(ctx context.Context) (final bool) {
	l.mu.Lock()
	if !l.begun {
		if l.leads == ctx {
			l.leads, l.granted = nil, make(chan struct{})
			l.epoch.Store(0)
		}
		l.mu.Unlock()
		return false
	}
	l.mu.Unlock()
	l.lose(context.Cause(ctx))
	return true
}

// begin has the elector lead by the permission, if it has not ended.
func (l *Lock) begin(record resourcelock.LeaderElectionRecord) error {
	if err := l.holds(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.lost != nil:
		return l.lost
	case l.leads == nil:
		return errNotPermitted
	}
	l.begun, l.record = true, record
	return nil
}

var errNotPermitted = errors.New("the agent does not permit this replica to lead")

// permitted is closed while there is a permission.
func (l *Lock) permitted() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.granted
}

// lose ends all that leads, and the candidacy. The first reason counts.
func (l *Lock) lose(why error) {
	lost := fmt.Errorf("%w: %w", ErrLost, why)
	l.mu.Lock()
	if l.lost != nil {
		l.mu.Unlock()
		return
	}
	l.lost = lost
	begun, bases := l.begun, l.bases
	l.mu.Unlock() // ending a context asks the contexts above it, and those ask the lock
	for _, end := range bases {
		end(lost)
	}
	if begun {
		close(l.loss)
	}
	// no second permission: the session is closed when what leads has stopped, or this one is over
	l.end()
}

// stop is called once, when all that led has ended, or nothing will: what is left of the permission
// is given back.
func (l *Lock) stop(why error) {
	l.mu.Lock()
	l.stopped = true
	alarm := l.leaseAlarm
	l.mu.Unlock()
	l.lose(why)
	close(l.done)
	if alarm != nil {
		_ = alarm.Close() // ends watchLease
	}
}

// overdue is called when the permission, or the Lease, is about to end: another process may lead
// soon. If this one leads by it, the process ends, because what leads may go on. If it does not
// lead yet, it cannot any more.
func (l *Lock) overdue(why error) {
	l.mu.Lock()
	leads := l.leads
	l.mu.Unlock()
	if leads == nil || !l.over(leads) {
		return
	}
	l.mu.Lock()
	goesOn := !l.stopped
	l.mu.Unlock()
	if goesOn && l.exit != nil {
		l.exit(why)
	}
}

// holds returns nil while the lock is held. It reads the clock.
func (l *Lock) holds() error {
	l.mu.Lock()
	leads, lost := l.leads, l.lost
	l.mu.Unlock()
	switch {
	case lost != nil:
		return lost
	case leads == nil:
		return errNotPermitted
	case leads.Err() == nil:
		return nil
	case l.over(leads):
		return fmt.Errorf("%w: %w", ErrLost, context.Cause(leads))
	}
	return errNotPermitted
}

// leaveUnlessBegun ends the candidacy of a process that was told to stop before it led: client-go
// tells the lock nothing then. The context of the first Get ends then, and when the elector has
// begun to lead.
func (l *Lock) leaveUnlessBegun() {
	l.mu.Lock()
	begun := l.begun
	l.mu.Unlock()
	if !begun {
		l.lose(errors.New("it was told to stop"))
	}
}

// Lost is closed when this replica has led and does so no longer. The contexts of what leads have
// ended then. If what leads does not end, too, the process ends before the permission does.
//
// A manager that is told to stop has lost when all that leads has stopped; or before, when its
// permission ends while it waits for that. So it is when its pod is deleted: then another replica
// is to lead at once. A replica that has never led loses nothing.
func (l *Lock) Lost() <-chan struct{} { return l.loss }

// Get waits until the agent permits this process to act; ctx ends the wait. Then nobody else holds
// the lock. It is an error once the lock is lost.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	inUse := l.inUse
	l.mu.Unlock()
	if !inUse {
		return nil, nil, ErrBare
	}
	l.campaign.Do(func() {
		go l.run()
		context.AfterFunc(ctx, l.leaveUnlessBegun)
	})
	select {
	case <-l.permitted():
	case <-l.running.Done():
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if err := l.holds(); err != nil {
		return nil, nil, err
	}
	if l.lease != nil {
		return l.lease.Get(ctx)
	}
	l.mu.Lock()
	record := l.record
	l.mu.Unlock()
	raw, err := json.Marshal(record)
	return &record, bytes.Clone(raw), err
}

// Create is Update for a Lease that does not exist yet.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.lease.Create(ctx, record) })
}

// Update succeeds while the lock is held. A record without a holder gives the lock up.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.lease.Update(ctx, record) })
}

func (l *Lock) write(record resourcelock.LeaderElectionRecord, toLease func() error) error {
	lasts := time.Duration(record.LeaseDurationSeconds) * time.Second
	if record.HolderIdentity == "" {
		// A manager's elector has given up, and what led may go on: the Lease runs out by itself.
		l.lose(errors.New("it was told to stop"))
		return nil
	}
	if err := l.holds(); err != nil {
		return err
	}
	if l.lease != nil {
		if err := l.writeLease(lasts, toLease); err != nil {
			return err
		}
		return l.begin(record) // it may have taken long
	}
	if lasts != timing.LeaseDuration {
		err := fmt.Errorf("%w: they were changed after LeaderElection", timing.Err)
		l.lose(err)
		return err
	}
	return l.begin(record)
}

// RecordEvent does nothing: an event would be a request to the API server. With a Lease it is the
// Lease's.
func (l *Lock) RecordEvent(event string) {
	if l.lease != nil {
		l.lease.RecordEvent(event)
	}
}

// Identity returns the host name, which is the pod's name; with a Lease its identity.
func (l *Lock) Identity() string {
	if l.lease != nil {
		return l.lease.Identity()
	}
	return l.identity
}

// Describe returns what the lock is, for logs.
func (l *Lock) Describe() string {
	url := l.agent.BaseURL()
	if l.lease != nil {
		return "Podesta (agent at " + url + ") and Lease " + l.lease.Describe()
	}
	return "Podesta (agent at " + url + ")"
}
