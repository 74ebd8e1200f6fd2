package simulate

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// Call returns the command line that plays a scenario, whose processes it numbers in ring order. It
// returns an error that says why if none can: flags have neither links that fail in one direction
// nor delays of one's own.
func Call(s scenario.Scenario) (string, error) {
	s = Numbered(s)
	o, err := optionsFor(s)
	if err != nil {
		return "", err
	}
	again, err := o.Scenario()
	if err != nil {
		return "", fmt.Errorf("the flags do not allow it: %w", err)
	}
	if s.Coordinator == "" && !s.Cold {
		s.Coordinator = scenario.Highest(s.Processes).Name
	}
	if !same(s, again) {
		return "", fmt.Errorf("the flags say something else:\n%+v\n%+v", s, again)
	}
	return o.line(), nil
}

// same reports whether two scenarios differ in nothing. An empty list is none, and the order in
// which processes are named makes no difference.
func same(a, b scenario.Scenario) bool {
	sorted := func(names []string) []string {
		names = append([]string{}, names...)
		slices.Sort(names)
		return names
	}
	for _, s := range []*scenario.Scenario{&a, &b} {
		s.Crashed, s.Unhealthy = sorted(s.Crashed), sorted(s.Unhealthy)
		s.Initiators = sorted(s.Initiators)
		s.Faults = append([]scenario.Fault{}, s.Faults...)
	}
	return reflect.DeepEqual(a, b)
}

// Numbered returns a scenario whose processes are called P1 to Pn in ring order, and in which each
// process fails by itself, as the command has it.
func Numbered(s scenario.Scenario) scenario.Scenario {
	called := map[string]string{"": ""}
	for i, p := range s.Processes {
		called[p.Name] = Name(i + 1)
	}
	list := func(names []string) []string {
		var all []string
		for _, name := range names {
			all = append(all, called[name])
		}
		return all
	}
	s.Processes = slices.Clone(s.Processes)
	for i := range s.Processes {
		s.Processes[i].Name = Name(i + 1)
	}
	s.Coordinator = called[s.Coordinator]
	s.Crashed, s.Unhealthy, s.Initiators = list(s.Crashed), list(s.Unhealthy), list(s.Initiators)
	var faults []scenario.Fault
	for _, f := range s.Faults {
		sides := f.Sides
		f.Sides = nil
		for _, side := range sides {
			f.Sides = append(f.Sides, list(side))
		}
		for _, name := range list(f.Processes) {
			f.Processes = []string{name}
			faults = append(faults, f)
		}
		if len(f.Processes) == 0 {
			faults = append(faults, f)
		}
	}
	s.Faults = faults
	return s
}

func optionsFor(s scenario.Scenario) (Options, error) {
	if s.Carry != nil {
		return Options{}, fmt.Errorf("the scenario delays or loses single messages, for which there is " +
			"no flag")
	}
	o := Options{
		Algorithm:  s.Algorithm,
		Processes:  len(s.Processes),
		Cold:       s.Cold,
		Crashed:    numbersOf(s.Crashed),
		Initiators: numbersOf(s.Initiators),
		Watch:      &s.Detect,
		Until:      units(s.Until),
	}
	slices.Sort(o.Crashed)
	slices.Sort(o.Initiators)
	for _, name := range s.Unhealthy {
		o.Unhealthy = append(o.Unhealthy, strconv.Itoa(Number(name)))
	}
	byNumber := true
	for i, p := range s.Processes {
		o.Priorities = append(o.Priorities, int(p.Priority))
		byNumber = byNumber && int(p.Priority) == i+1
	}
	if byNumber {
		o.Priorities = nil
	}
	if s.Coordinator != "" && s.Coordinator != scenario.Highest(s.Processes).Name {
		o.Coordinator = Number(s.Coordinator)
	}
	return o, o.faults(s.Faults)
}

// faults adds what happens at given times.
func (o *Options) faults(faults []scenario.Fault) error {
	for i, f := range faults {
		at := "@" + scenario.Delays(f.At)
		var list *[]string
		switch f.Kind {
		case scenario.Crash:
			list = &o.Crash
		case scenario.Recover:
			list = &o.Recover
		case scenario.Unhealthy:
			list = &o.Unhealthy
		case scenario.Healthy:
			list = &o.Healthy
		case scenario.Cut:
			if i+1 < len(faults) && faults[i+1].Kind == scenario.Heal {
				at += "-" + scenario.Delays(faults[i+1].At)
			}
			o.Partitions = append(o.Partitions, partition(f.Sides)+at)
			continue
		case scenario.Heal:
			continue // with its cut
		default:
			return fmt.Errorf("there is no flag for %s", f.Kind)
		}
		for _, name := range f.Processes {
			*list = append(*list, strconv.Itoa(Number(name))+at)
		}
	}
	return nil
}

func partition(sides [][]string) string {
	all := make([]string, 0, len(sides))
	for _, side := range sides {
		all = append(all, joined(numbersOf(side)))
	}
	return strings.Join(all, "|")
}

// line writes options as a command line, without flags that say what is so anyway.
func (o Options) line() string {
	var b strings.Builder
	b.WriteString("kubectl election simulate")
	flag := func(is bool, name, value string) {
		if is {
			b.WriteString(" --" + name + value)
		}
	}
	flag(o.Algorithm != DefaultAlgorithm, "algorithm", " "+o.Algorithm)
	flag(o.Processes != DefaultProcesses, "processes", " "+strconv.Itoa(o.Processes))
	flag(len(o.Priorities) > 0, "priorities", " "+joined(o.Priorities))
	flag(o.Coordinator != 0, "coordinator", " "+strconv.Itoa(o.Coordinator))
	flag(o.Cold, "cold", "")
	flag(len(o.Crashed) > 0, "crashed", " "+joined(o.Crashed))
	flag(len(o.Initiators) > 0, "initiator", " "+joined(o.Initiators))
	for _, list := range []struct {
		name   string
		values []string
	}{{"unhealthy", o.Unhealthy}, {"healthy", o.Healthy}, {"crash", o.Crash}, {"recover", o.Recover},
		{"partition", o.Partitions}} {
		for _, value := range list.values {
			if list.name == "partition" {
				value = strconv.Quote(value)
			}
			flag(true, list.name, " "+value)
		}
	}
	timed := len(o.Crash)+len(o.Recover)+len(o.Healthy)+len(o.Partitions) > 0 ||
		slices.ContainsFunc(o.Unhealthy, func(s string) bool { return strings.Contains(s, "@") })
	if o.Watch != nil && *o.Watch != timed {
		flag(true, "watch", map[bool]string{true: "", false: "=false"}[*o.Watch])
	}
	flag(o.Until > 0, "until", " "+number(o.Until))
	return b.String()
}

func joined(numbers []int) string {
	all := make([]string, 0, len(numbers))
	for _, i := range numbers {
		all = append(all, strconv.Itoa(i))
	}
	return strings.Join(all, ",")
}
