package report

import (
	"bytes"
	_ "embed" // the text of the page
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/account"
)

// Write writes performance.md, and the pictures in the folder performance, into a folder. The note
// is about the run; meanings says what each system and condition is.
func Write(dir string, all []Record, note string, meanings func(kind, name string) string) error {
	if len(all) == 0 {
		return errors.New("there are no records: run peers failover and peers stress with --json")
	}
	for _, r := range all {
		with := strings.Join(r.Faults, ",")
		if !slices.Contains([]string{nothing, kills, fourWays, short}, with) {
			return fmt.Errorf("the page has no section for --faults %s: it has %s, %s and %s", with,
				kills, fourWays, short)
		}
	}
	p := page{
		Note:     note,
		records:  Newest(all),
		meanings: meanings,
	}
	text, err := p.text()
	if err != nil {
		return err
	}
	files := map[string][]byte{"performance.md": text}
	for _, picture := range []struct {
		name, title string
		some        []Record
		draws       func(Record) account.Durations
	}{
		{"failover", "From a fault until all survivors name the same new leader",
			p.of(Failover, nothing), Record.durations},
		{"calm", "No faults: for how long nobody leads, in each minute (1 ms: or less)",
			p.of(Stress, nothing), Record.perMinute},
		{"kills", "From a kill until another one leads, all systems at the same time",
			p.of(Stress, kills), Record.durations},
		{"faults", "From a fault until another one leads, all systems at the same time",
			p.of(Stress, fourWays), Record.durations},
		{"short", "From a short interruption until another one leads, or the leader has its lead back",
			p.of(Stress, short), Record.durations},
	} {
		if len(picture.some) == 0 {
			continue
		}
		if files["performance/"+picture.name+".svg"], err = strips(picture.title,
			blocks(picture.some, picture.draws)); err != nil {
			return err
		}
	}
	if some := p.of(Stress, fourWays); len(some) > 0 {
		if files["performance/availability.svg"], err = curves(some); err != nil {
			return err
		}
	}
	//nolint:gosec // documentation is no secret
	if err := os.MkdirAll(filepath.Join(dir, "performance"), 0o755); err != nil {
		return err
	}
	for name, data := range files {
		//nolint:gosec // documentation is no secret
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

//go:embed performance.md.tmpl
var body string

// page is what the template shows.
type page struct {
	Note     string
	records  []Record
	meanings func(kind, name string) string
}

func (p page) text() ([]byte, error) {
	t, err := template.New("performance.md").Parse(body)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, p)
	return out.Bytes(), err
}

// The faults of runs that the page has a section for.
const (
	nothing  = ""
	kills    = "SIGKILL"
	fourWays = "SIGKILL,SIGSTOP,SIGTERM,cut"
	short    = "short-SIGSTOP,short-cut"
)

// of are the records of a kind, of runs with these faults.
func (p page) of(kind, faults string) []Record {
	return slices.DeleteFunc(slices.Clone(p.records), func(r Record) bool {
		return r.Kind != kind || strings.Join(r.Faults, ",") != faults
	})
}

// FailoverTable and those that follow are the tables; empty: nothing was measured.
func (p page) FailoverTable() string { return table(FailoverTable, p.of(Failover, nothing)) }

// CalmTable is that of stress without faults.
func (p page) CalmTable() string { return table(StressTable, p.of(Stress, nothing)) }

// KillsTable is that of stress with kills.
func (p page) KillsTable() string { return table(StressTable, p.of(Stress, kills)) }

// FaultsTable is that of stress with four kinds of faults.
func (p page) FaultsTable() string { return table(StressTable, p.of(Stress, fourWays)) }

// ByFaultTable is that of stress with four kinds of faults by the fault.
func (p page) ByFaultTable() string { return table(ByFaultTable, p.of(Stress, fourWays)) }

// ShortTable is that of stress with short interruptions.
func (p page) ShortTable() string { return table(StressTable, p.of(Stress, short)) }

// InterruptionsTable is that of the same by the length of the interruption.
func (p page) InterruptionsTable() string {
	return table(InterruptionsTable, p.of(Stress, short))
}

// Commands are those to repeat it, in their order.
func (p page) Commands() []string {
	return distinct(p.records, func(r Record) string { return r.Command })
}

// Machines are where it was measured, when, with which version, and what.
func (p page) Machines() (all []string) {
	where := func(r Record) string {
		with := ""
		if r.Harness != "" && !strings.Contains(r.Version, r.Harness) {
			with = ", with bench/peers " + r.Harness
		}
		return fmt.Sprintf("%s: %s; Podesta %s%s", r.Begun.UTC().Format(time.DateOnly), r.Machine,
			r.Version, with)
	}
	for _, w := range distinct(p.records, where) {
		here := slices.DeleteFunc(slices.Clone(p.records), func(r Record) bool { return where(r) != w })
		all = append(all, w+": "+strings.Join(distinct(here, Record.part), ", "))
	}
	return all
}

// Meaning is a name and what it stands for.
type Meaning struct{ Name, What string }

// Systems are those that were measured.
func (p page) Systems() []Meaning {
	return p.explain("", func(r Record) string { return r.System })
}

// Conditions are those that were measured.
func (p page) Conditions() []Meaning {
	return p.explain(Stress, func(r Record) string { return r.Under })
}

// explain says what the names stand for that records of a kind, or all, have.
func (p page) explain(kind string, name func(Record) string) (all []Meaning) {
	some := slices.DeleteFunc(slices.Clone(p.records), func(r Record) bool {
		return kind != "" && r.Kind != kind
	})
	for _, n := range distinct(some, name) {
		all = append(all, Meaning{n, p.meanings(kind, n)})
	}
	return all
}

func table(write func(io.Writer, []Record), some []Record) string {
	if len(some) == 0 {
		return ""
	}
	var out bytes.Buffer
	write(&out, some)
	return out.String()
}

// distinct are the values in the order of their first record.
func distinct(all []Record, value func(Record) string) (values []string) {
	for _, r := range all {
		if v := value(r); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// blocks are the records by what they were under, with what is to be drawn of each.
func blocks(some []Record, draws func(Record) account.Durations) (all []block) {
	for _, under := range distinct(some, Record.under) {
		b := block{name: under}
		for _, r := range some {
			if r.under() == under {
				b.rows = append(b.rows, strip{r.System, draws(r)})
			}
		}
		all = append(all, b)
	}
	return all
}

func isPodesta(system string) bool { return strings.HasPrefix(system, "podesta") }
