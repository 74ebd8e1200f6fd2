package statedir_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/durable/durabletest"
	"github.com/podesta-dev/podesta/internal/lease"
)

// The real lease machine on the real disk code: what a voter has answered, its next incarnations
// know, wherever the disk fails, the process dies or the power goes.

// story is a voter's life: it becomes a voter, is silent for a lease, promises, renews, is given a
// roster, promises again, is released, and promises to another. Each part returns the disk's error.
var story = []func(v *voter) error{
	func(v *voter) error { return v.use(shop(1)) },
	func(v *voter) error { v.clock += 2 * leaseTime; return nil },
	ask("p2", 1, 1),
	func(v *voter) error { v.clock += leaseTime / 2; return nil },
	ask("p2", 1, 1),
	ask("p3", 1, 2),
	func(v *voter) error { return v.use(shop(2)) },
	ask("p2", 2, 1),
	func(v *voter) error { return v.release("p2", lease.NewEpoch(2, 1)) },
	ask("p3", 2, 2),
	ask("p2", 2, 3),
}

func ask(name string, generation, ballot int64) func(*voter) error {
	return func(v *voter) error {
		_, err := v.vote(name, lease.NewEpoch(generation, ballot))
		return err
	}
}

// live plays the story on a disk until the process crashes or the story ends. Other failures of the
// disk do not end it: the agent goes on.
func live(t *testing.T, disk *durabletest.Disk) (clock lease.Instant, o *oath) {
	clock, o = time.Hour, &oath{}
	v, err := boot(t, disk, clock, o)
	for _, part := range story {
		if errors.Is(err, durabletest.ErrCrashed) {
			break
		}
		if v == nil { // the disk failed when it was opened: the agent is started again
			if v, err = boot(t, disk, clock, o); err != nil {
				continue
			}
		}
		err = part(v)
		clock = v.clock
	}
	return clock, o
}

// tempt lets a rival ask the next incarnation for its vote, again and again, until the promise has
// run out and the vote is granted: that must come in the end, or nothing was tried. Before that,
// the process that was promised an epoch renews it if it may, which writes nothing and is an
// answer, too.
func tempt(t *testing.T, disk *durabletest.Disk, clock lease.Instant, o *oath) {
	t.Helper()
	v, err := boot(t, disk, clock, o)
	if err != nil {
		t.Errorf("the next incarnation does not start: %v", err)
		return
	}
	if v.roster == nil {
		if o.highest != 0 {
			t.Errorf("%s was answered, and the roster is gone", o.highest)
		}
		err = v.use(shop(2))
	}
	if err != nil {
		t.Error(err)
		return
	}
	generation := v.roster.Generation
	for range 12 {
		if o.highest != 0 { // the epoch of an earlier answer is nobody else's
			_, err = v.vote("p3", o.highest)
		}
		granted, err2 := v.vote("p3", lease.NewEpoch(generation, 9))
		if err := errors.Join(err, err2); err != nil {
			t.Error(err)
		}
		if granted {
			return
		}
		v.clock += leaseTime / 4
	}
	t.Error("the voter grants nothing any more")
}

// copied is an oath that another future of the disk may hold the voter to.
func (o *oath) copied() *oath { c := *o; return &c }

// futures are the disks that the next process may find.
func futures(disk *durabletest.Disk) []*durabletest.Disk {
	return append(disk.AfterPowerLoss(), disk.Restarted())
}

// stepsOf returns the steps that the whole story takes on the disk.
func stepsOf(t *testing.T) []durabletest.Step {
	t.Helper()
	disk := durabletest.New()
	_, o := live(t, disk)
	if o.highest != lease.NewEpoch(2, 2) || o.to != candidate("p3") || o.generation != 2 {
		t.Fatalf("the story ends with %+v", o)
	}
	return disk.Steps()
}

// The process dies or the power goes at every step of every write.
func TestAnAnswerOutlivesACrash(t *testing.T) {
	for number, step := range append(stepsOf(t), durabletest.Step{Do: "none"}) {
		t.Run(fmt.Sprintf("%d %s", number, step), func(t *testing.T) {
			disk := durabletest.New()
			disk.Fault = durabletest.CrashAt(number)
			clock, o := live(t, disk)
			for _, found := range futures(disk) {
				tempt(t, found, clock, o.copied())
			}
		})
	}
}

// The disk fails once, at every step of every write; the agent goes on, and dies in the end.
func TestAnAnswerOutlivesADiskThatFails(t *testing.T) {
	for _, fault := range []error{durabletest.ErrFull, durabletest.ErrIO} {
		for number, step := range stepsOf(t) {
			t.Run(fmt.Sprintf("%v %d %s", fault, number, step), func(t *testing.T) {
				disk := durabletest.New()
				disk.Fault = durabletest.FailAt(number, fault)
				clock, o := live(t, disk)
				for _, found := range futures(disk) {
					tempt(t, found, clock, o.copied())
				}
			})
		}
	}
}

// The process dies at a step; its next incarnation finds what the system still has, answers a
// renewal of what it finds, for which nothing need be written, and then the power goes.
func TestAnAnswerToWhatWasFoundOutlivesALossOfPower(t *testing.T) {
	renewed := 0
	for number, step := range stepsOf(t) {
		t.Run(fmt.Sprintf("%d %s", number, step), func(t *testing.T) {
			disk := durabletest.New()
			disk.Fault = durabletest.CrashAt(number)
			clock, o := live(t, disk)
			second := disk.Restarted()
			v, err := boot(t, second, clock, o)
			if err != nil {
				t.Fatal(err)
			}
			if found := v.machine.State(); found.Highest != 0 {
				before := len(second.Steps())
				granted, err := v.vote(found.To.Name, found.Highest)
				if err != nil {
					t.Fatal(err)
				}
				if granted && len(second.Steps()) == before {
					renewed++
				}
			}
			for _, found := range futures(second) {
				tempt(t, found, v.clock, o.copied())
			}
		})
	}
	if renewed == 0 {
		t.Error("nothing was renewed without a write: nothing was tried")
	}
}
