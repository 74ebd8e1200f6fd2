package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/durable"
	"github.com/podesta-dev/podesta/internal/durable/durabletest"
)

// The first write makes the file; each one after it is one write and one sync.
func TestTheStepsOfOverwriting(t *testing.T) {
	disk := durabletest.New()
	s := open(t, disk)
	f := s.Slots("a")
	for _, content := range []string{"first", "second", "third"} {
		if err := f.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const want = `lock lock
remove a.tmp
remove b.tmp
sync
create a.tmp
write a.tmp
sync a.tmp
close a.tmp
rename a.tmp a
sync
overwrite a
write a
sync a
write a
sync a
close a`
	if got := steps(disk); got != want {
		t.Errorf("the steps were\n%s\nwant\n%s", got, want)
	}
}

// life is what a file of slots goes through: contents of no, one, three and two sectors.
var life = []string{
	"",
	"short",
	strings.Repeat("three sectors ", 100),
	strings.Repeat("two sectors ", 50),
	"short again",
	strings.Repeat("3 sectors ", 140),
}

// known is what somebody relies on, and what was asked for after it.
type known struct {
	confirmed string
	asked     []string // any of them may be there, if it was not confirmed
}

func (k known) allows(content string) bool {
	return content == k.confirmed || slices.Contains(k.asked, content)
}

// lived plays the life on a disk until the process crashes. Other failures do not end it.
func lived(t *testing.T, disk *durabletest.Disk) (k known) {
	t.Helper()
	var f *durable.Slots
	for _, content := range life {
		if f == nil {
			s, err := durable.Open(disk, "lock", "a")
			if errors.Is(err, durabletest.ErrCrashed) {
				return k
			}
			if err != nil {
				continue
			}
			f = s.Slots("a")
		}
		k.asked = append(k.asked, content)
		err := f.Write([]byte(content))
		if err == nil {
			k = known{confirmed: content}
		}
		if errors.Is(err, durabletest.ErrCrashed) {
			return k
		}
	}
	return k
}

// slots reads a file of slots; a file that is missing holds nothing.
func slots(t *testing.T, disk *durabletest.Disk) string {
	t.Helper()
	data, err := open(t, disk).Slots("a").Read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func stepsOfLife(t *testing.T) []durabletest.Step {
	t.Helper()
	disk := durabletest.New()
	if k := lived(t, disk); k.confirmed != life[len(life)-1] {
		t.Fatalf("the life ends with %q", k.confirmed)
	}
	return disk.Steps()
}

// Whenever the process dies or the power goes, the file has the last content that was confirmed, or
// the one that was being written. What is read then survives whatever happens next.
func TestCrashWhileItIsOverwritten(t *testing.T) {
	futures, cutShort := 0, 0
	for number, step := range append(stepsOfLife(t), durabletest.Step{Do: "none"}) {
		t.Run(fmt.Sprintf("%d %s", number, step), func(t *testing.T) {
			disk := durabletest.New()
			disk.Fault = durabletest.CrashAt(number)
			k := lived(t, disk)
			for _, found := range append(disk.AfterPowerLoss(), disk.Restarted()) {
				futures++
				got := slots(t, found)
				if !k.allows(got) {
					t.Errorf("%q was confirmed, %q was asked for, and %q is there",
						k.confirmed, k.asked, got)
				}
				if len(k.asked) > 0 && got == k.confirmed {
					cutShort++
				}
				for _, later := range append(found.AfterPowerLoss(), found.Restarted()) {
					if again := slots(t, later); again != got {
						t.Errorf("%q was read, and then %q", got, again)
					}
				}
			}
		})
	}
	if futures < 60 || cutShort < 20 {
		t.Errorf("%d futures, %d of them with the content before: not enough was tried",
			futures, cutShort)
	}
}

// A step that fails is an error, and the writes after it are not any worse off.
func TestAStepOfOverwritingFails(t *testing.T) {
	for _, fault := range []error{durabletest.ErrFull, durabletest.ErrIO} {
		for number, step := range stepsOfLife(t) {
			t.Run(fmt.Sprintf("%v %d %s", fault, number, step), func(t *testing.T) {
				disk := durabletest.New()
				disk.Fault = durabletest.FailAt(number, fault)
				k := lived(t, disk)
				if k.confirmed == "" {
					t.Fatal("nothing was written after the failure")
				}
				for _, found := range append(disk.AfterPowerLoss(), disk.Restarted()) {
					if got := slots(t, found); !k.allows(got) {
						t.Errorf("%q was confirmed, and %q is there", k.confirmed, got)
					}
				}
			})
		}
	}
}

// After a sync that failed, nobody knows what the disk has of that write: a sync that succeeds later
// says nothing about it. So the next write does not go to the same file.
func TestAFileWhoseSyncFailedIsReplaced(t *testing.T) {
	for _, fails := range []string{"write", "sync"} {
		disk := durabletest.New()
		f := open(t, disk).Slots("a")
		if err := f.Write([]byte("first")); err != nil {
			t.Fatal(err)
		}
		disk.Fault = func(s durabletest.Step) error {
			if s.Do == fails && s.Name == "a" {
				return durabletest.ErrIO
			}
			return nil
		}
		for range 2 {
			if err := f.Write([]byte("second")); err != nil && !errors.Is(err, durabletest.ErrIO) {
				t.Fatal(err)
			}
		}
		all := steps(disk)
		if strings.Count(all, "rename") != 2 || strings.Count(all, "close a\n") != 1 {
			t.Errorf("after a %s that failed:\n%s", fails, all)
		}
	}
}

// What is read after a write that failed may be what that write has left, and survives.
func TestWhatIsReadAfterAFailureSurvives(t *testing.T) {
	for _, fails := range []string{"write", "sync"} {
		disk := durabletest.New()
		f := open(t, disk).Slots("a")
		content := func(s string) []byte { return []byte(strings.Repeat(s, 700)) } // two sectors
		if err := f.Write(content("1")); err != nil {
			t.Fatal(err)
		}
		disk.Fault = func(s durabletest.Step) error {
			if s.Do == fails && s.Name == "a" {
				return durabletest.ErrIO
			}
			return nil
		}
		if err := f.Write(content("2")); !errors.Is(err, durabletest.ErrIO) {
			t.Fatal(err)
		}
		seen, err := f.Read()
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range append(disk.AfterPowerLoss(), disk.Restarted()) {
			if got := slots(t, found); got != string(seen) {
				t.Errorf("a %s failed; %.9q… was read, and then %.9q…", fails, seen, got)
			}
		}
	}
}

// A write fails, and the process crashes at any step after that, or the power goes.
func TestACrashAfterAFailure(t *testing.T) {
	all := stepsOfLife(t)
	for first := range all {
		for second := first + 1; second < len(all)+8; second++ {
			disk := durabletest.New()
			disk.Fault = func(s durabletest.Step) error {
				switch s.Number {
				case first:
					return durabletest.ErrIO
				case second:
					return durabletest.ErrCrashed
				}
				return nil
			}
			k := lived(t, disk)
			for _, found := range append(disk.AfterPowerLoss(), disk.Restarted()) {
				if got := slots(t, found); !k.allows(got) {
					t.Fatalf("step %d failed, the crash was at step %d: %.20q was confirmed, %.20q "+
						"was asked for, and %.20q is there", first, second, k.confirmed, k.asked, got)
				}
			}
		}
	}
}

// grown is a file that was written so often, each time with another content.
func grown(t *testing.T, writes int) (data []byte, newest string) {
	t.Helper()
	disk := durabletest.New()
	f := open(t, disk).Slots("a")
	for n := range writes {
		newest = strings.Repeat(fmt.Sprint(n), 1+n%3*400)
		if err := f.Write([]byte(newest)); err != nil {
			t.Fatal(err)
		}
	}
	data, _ = disk.Get("a")
	return data, newest
}

// readSlots reads a file as it was found.
func readSlots(t *testing.T, data []byte) (string, error) {
	t.Helper()
	disk := durabletest.New()
	disk.Put("a", data)
	content, err := open(t, disk).Slots("a").Read()
	if left, _ := disk.Get("a"); err != nil && string(left) != string(data) {
		t.Error("a file that cannot be read was changed")
	}
	return string(content), err
}

func isDamaged(err error) bool {
	var damaged *durable.DamagedError
	return errors.As(err, &damaged)
}

// A byte that is damaged never brings back what was there before: it is an error, or not in use.
func TestDamageOfASlot(t *testing.T) {
	for writes := 1; writes <= 5; writes++ {
		data, newest := grown(t, writes)
		noticed := 0
		for at := range data {
			if at%512 > 20 && at%31 != 0 || at%(32<<10) > 4<<10 && at%509 != 0 {
				continue // every header, some of the content, little of what was never used
			}
			spoilt := slices.Clone(data)
			spoilt[at] ^= 0x20
			got, err := readSlots(t, spoilt)
			switch {
			case isDamaged(err):
				noticed++
			case err != nil || got != newest:
				t.Fatalf("%d writes, byte %d damaged: %.20q, %v", writes, at, got, err)
			}
		}
		if noticed < 30 {
			t.Errorf("%d writes: %d of the damaged bytes were noticed", writes, noticed)
		}
	}
}

// A file that no loss of power leaves is damaged: the newest write may have been in it.
func TestWhatNoLossOfPowerLeaves(t *testing.T) {
	const half, sector = 32 << 10, 512
	second, _ := grown(t, 2)
	third, _ := grown(t, 3)
	fifth, _ := grown(t, 5)
	put := func(data []byte, at int, part []byte) []byte {
		data = slices.Clone(data)
		copy(data[at:], part)
		return data
	}
	for name, data := range map[string][]byte{
		"empty":                            nil,
		"zeros":                            make([]byte, len(third)),
		"a half":                           third[:half],
		"twice":                            append(slices.Clone(third), third...),
		"the newest write is gone":         put(third, half, make([]byte, half)),
		"the newest write's first sector":  put(third, half, make([]byte, sector)),
		"the write before it is gone":      put(third, 0, make([]byte, half)),
		"the newest of two, zeros":         put(second, 0, make([]byte, sector)),
		"a part of the newest, zeros":      put(third, half+sector, make([]byte, sector)),
		"the newest write of two is gone":  put(second, 0, third[half:]),
		"the newest is of another time":    put(third, half, fifth[half:]),
		"the one before is of another":     put(fifth, 0, second[:half]),
		"its halves are swapped":           append(slices.Clone(third[half:]), third[:half]...),
		"one write in both":                put(third, 0, third[half:]),
		"another file":                     []byte("podesta-lease 1 {} checksum 00000000\n"),
		"larger than any":                  make([]byte, 1<<20),
		"a sector in place of the newest":  put(third, half, fifth[half+sector:][:sector]),
		"a middle sector of another write": put(third, half+sector, second[:sector]),
	} {
		_, err := readSlots(t, data)
		if !isDamaged(err) && !errors.Is(err, durable.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASlotIsBounded(t *testing.T) {
	disk := durabletest.New()
	f := open(t, disk).Slots("a")
	for _, length := range []int{0, 1, 495, 496, 497, durable.MaxSlot} {
		content := strings.Repeat("x", length)
		if err := f.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Read(); err != nil || string(got) != content {
			t.Errorf("of %d bytes %d came back, %v", length, len(got), err)
		}
		before := len(disk.Steps())
		if err := f.Write(make([]byte, durable.MaxSlot+1)); !errors.Is(err, durable.ErrTooLarge) {
			t.Errorf("a content that has no room: %v", err)
		}
		if after := len(disk.Steps()); after != before {
			t.Errorf("it took %d steps", after-before)
		}
	}
}

func TestSlotsAreClosedWithTheirStore(t *testing.T) {
	s := open(t, durabletest.New())
	f := s.Slots("a")
	if err := errors.Join(f.Write(nil), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(nil); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
	if _, err := f.Read(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Read after Close: %v", err)
	}
	if err := open(t, durabletest.New()).Slots("other").Write(nil); err == nil {
		t.Error("a file that was not named was written")
	}
}

// Nothing else replaces or removes a file of slots: the next write would go to one without a name.
func TestSlotsAreNotReplaced(t *testing.T) {
	disk := durabletest.New()
	s := open(t, disk)
	f := s.Slots("a")
	if err := f.Write([]byte("content")); err != nil {
		t.Fatal(err)
	}
	if s.Write("a", nil) == nil || s.Remove("a") == nil || s.Slots("a") != f {
		t.Error("it was replaced, or removed, or has another writer")
	}
	if got := slots(t, disk.Restarted()); got != "content" {
		t.Errorf("it has %q", got)
	}
}

// A promise does not wait while another file is being written.
func TestSlotsDoNotWaitForOtherFiles(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := open(t, held{durable.Directory(t.TempDir()), begun, goOn})
	f := s.Slots("a")
	if err := f.Write([]byte("first")); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.Write("b", nil) }()
	<-begun
	if err := f.Write([]byte("second")); err != nil {
		t.Error(err)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// held is a directory in which the file b is being written for a while.
type held struct {
	durable.System
	begun, goOn chan struct{}
}

func (h held) Rename(from, to string) error {
	if to == "b" {
		close(h.begun)
		<-h.goOn
	}
	return h.System.Rename(from, to)
}

// What is on disks today has to be read tomorrow: another layout is another file.
func TestTheLayoutOfASlot(t *testing.T) {
	disk := durabletest.New()
	f := open(t, disk).Slots("a")
	for _, content := range []string{"first", strings.Repeat("second", 100)} {
		if err := f.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	data, _ := disk.Get("a")
	if len(data) != 64<<10 {
		t.Errorf("it has %d bytes", len(data))
	}
	for at, want := range map[int]string{
		0:            `cafe3bd401f000010000000000000002 "secondsec"`,
		512:          `9188e8ee006801000000000000000002 "ndseconds"`,
		1024:         `6acda02a000002000000000000000000 "\x00\x00\x00\x00\x00\x00\x00\x00\x00"`,
		32 << 10:     `5a71ad6e000500000000000000000001 "first\x00\x00\x00\x00"`,
		64<<10 - 512: `a0bcc00700003f000000000000000000 "\x00\x00\x00\x00\x00\x00\x00\x00\x00"`,
	} {
		if got := fmt.Sprintf("%x %.9q", data[at:at+16], data[at+16:at+25]); got != want {
			t.Errorf("sector %d is %s, want %s", at/512, got, want)
		}
	}
}

// FuzzSlots: whatever a file has, it is read without a panic, and what is read is read again.
func FuzzSlots(f *testing.F) {
	f.Add(uint(2), uint(33<<10), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, writes, at uint, damage []byte) {
		data, _ := grown(t, int(1+writes%5))
		copy(data[at%uint(len(data)):], damage)
		disk := durabletest.New()
		disk.Put("a", data)
		first, err := open(t, disk).Slots("a").Read()
		if err != nil {
			return
		}
		if again := slots(t, disk.Restarted()); again != string(first) {
			t.Errorf("%q was read, and then %q", first, again)
		}
	})
}
