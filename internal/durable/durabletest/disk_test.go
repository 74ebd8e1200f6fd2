package durabletest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// files is what a disk has, in one line.
func files(d *Disk) string {
	var all []string
	for _, name := range d.Names() {
		data, _ := d.Get(name)
		all = append(all, fmt.Sprintf("%s=%q", name, data))
	}
	return strings.Join(all, " ")
}

func outcomes(d *Disk) []string {
	var all []string
	for _, found := range d.AfterPowerLoss() {
		all = append(all, files(found))
	}
	slices.Sort(all)
	return all
}

// What a loss of power may leave, after each step of replacing a file and with steps left out.
func TestWhatALossOfPowerMayLeave(t *testing.T) {
	const old, renamed = `a="old"`, `a="new!"`
	spoiltTemporary := []string{old + ` t=""`, old + ` t="ne"`, old + ` t="\x00\x00\x00\x00"`}
	spoilt := []string{`a=""`, `a="ne"`, `a="\x00\x00\x00\x00"`}
	for steps, want := range map[string][]string{
		"":                               {old},
		"create":                         {old, old + ` t=""`},
		"create write":                   append(spoiltTemporary, old, old+` t="new!"`),
		"create write sync":              {old, old + ` t="new!"`},
		"create write sync rename":       {renamed, old, old + ` t="new!"`},
		"create write sync rename names": {renamed},
		"create write rename": append(slices.Concat(spoiltTemporary, spoilt),
			old, old+` t="new!"`, renamed),
		"create write rename names": append(spoilt, renamed),
		"remove":                    {"", old},
		"remove names":              {""},
	} {
		d := New()
		d.Put("a", []byte("old"))
		f := &file{disk: d, name: "t", content: &content{}}
		for _, step := range strings.Fields(steps) {
			var err error
			switch step {
			case "create":
				created, createErr := d.Create("t")
				f, err = created.(*file), createErr
			case "write":
				_, err = io.WriteString(f, "new!")
			case "sync":
				err = f.Sync()
			case "rename":
				err = d.Rename("t", "a")
			case "remove":
				err = d.Remove("a")
			case "names":
				err = d.Sync()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		before := files(d)
		slices.Sort(want)
		if got := outcomes(d); !slices.Equal(got, want) {
			t.Errorf("after %q:\n%q\nwant\n%q", steps, got, want)
		}
		if got := files(d.Restarted()); got != before || files(d) != before {
			t.Errorf("after %q a restart found %s, want %s", steps, got, before)
		}
		if got := outcomes(d.Restarted()); !slices.Equal(got, want) {
			t.Errorf("after %q and a restart a loss of power may leave %q", steps, got)
		}
	}
}

// What a loss of power has left stays, and so does a disk whose copies are changed.
func TestDisksShareNothing(t *testing.T) {
	d := New()
	d.Put("a", []byte("old"))
	for _, found := range append(d.AfterPowerLoss(), d.Restarted()) {
		if err := errors.Join(found.Rename("a", "b"), found.Sync()); err != nil {
			t.Fatal(err)
		}
		if got := outcomes(found); !slices.Equal(got, []string{`b="old"`}) {
			t.Errorf("the copy may have %q", got)
		}
	}
	if got := files(d); got != `a="old"` {
		t.Errorf("the disk has %s", got)
	}
}

// A refused write leaves a half, a crash ends everything, and the lock is free afterwards.
func TestFaults(t *testing.T) {
	d := New()
	if _, err := d.Lock("lock"); err != nil {
		t.Fatal(err)
	}
	f, err := d.Create("a")
	if err != nil {
		t.Fatal(err)
	}
	d.Fault = FailAt(2, ErrFull)
	if n, err := io.WriteString(f, "content"); n != 3 || !errors.Is(err, ErrFull) {
		t.Errorf("%d bytes were written, %v", n, err)
	}
	d.Fault = CrashAt(3)
	for range 2 {
		if err := d.Rename("a", "b"); !errors.Is(err, ErrCrashed) {
			t.Errorf("a step of the crashed process: %v", err)
		}
	}
	if got := len(d.Steps()); got != 4 {
		t.Errorf("%d steps were counted, want 4", got)
	}
	d = d.Restarted()
	if got := files(d); got != `a="con"` {
		t.Errorf("the next process finds %s", got)
	}
	if _, err := d.Lock("lock"); err != nil {
		t.Errorf("the next process: %v", err)
	}
}

// Very many changes that were never synced do not make very many outcomes.
func TestOutcomesAreBounded(t *testing.T) {
	d := New()
	for i := range 100 {
		if _, err := d.Create(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(d.AfterPowerLoss()); got != 1<<mostPending {
		t.Errorf("%d outcomes", got)
	}
}

// Of a file that is overwritten, a loss of power leaves each sector old or new, until it is synced.
// What a sync has failed to write, only another write and another sync bring to the disk.
func TestWhatALossOfPowerLeavesOfAnOverwrittenFile(t *testing.T) {
	sectors := func(letters string) []byte {
		var data []byte
		for _, letter := range letters {
			data = append(data, bytes.Repeat([]byte(string(letter)), 512)...)
		}
		return data
	}
	found := func(d *Disk) string {
		var all []string
		for _, d := range d.AfterPowerLoss() {
			data, _ := d.Get("a")
			letters := ""
			for at := 0; at < len(data); at += 512 {
				letters += string(data[at])
			}
			if !bytes.Equal(data, sectors(letters)) {
				t.Errorf("a sector is mixed: %q", data)
			}
			all = append(all, letters)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	d := New()
	d.Put("a", sectors("old"))
	if _, err := d.Overwrite("b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is missing: %v", err)
	}
	f, err := d.Overwrite("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		do, data string
		at       int64
		fails    bool
		want     string
	}{
		{do: "write", data: "NE", at: 0, want: "NEd Nld oEd old"},
		{do: "sync", want: "NEd"},
		{do: "write", data: "xy", at: 512, fails: true, want: "NEd Nxd"}, // a half is written
		{do: "sync", fails: true, want: "NEd Nxd"},
		{do: "write", data: "z", at: 1024, want: "NEd NEz Nxd Nxz"},
		{do: "sync", want: "NEz Nxz"},
		{do: "write", data: "x", at: 512, want: "NEz Nxz"},
		{do: "sync", want: "Nxz"},
	} {
		d.Fault = func(Step) error {
			if step.fails {
				return ErrIO
			}
			return nil
		}
		if step.do == "write" {
			_, err = f.WriteAt(sectors(step.data), step.at)
		} else {
			err = f.Sync()
		}
		if got := found(d); got != step.want || errors.Is(err, ErrIO) != step.fails {
			t.Errorf("%+v: %s, %v", step, got, err)
		}
		if got := found(d.Restarted()); got != step.want {
			t.Errorf("%+v, and the process ends: %s", step, got)
		}
	}
	if _, err := f.WriteAt(sectors("ab"), 1024); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("behind the end: %v", err)
	}
}
