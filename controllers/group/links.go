package group

import (
	"fmt"
	"strings"
)

// reasonNotLinked is a reason of condition Degraded.
const reasonNotLinked = "NotLinked"

// missingLinks describes which processes report that they have no link to another one that reports,
// too, and why; empty if none does. The table says enough of a process that does not report.
func missingLinks(f findings) string {
	type missing struct{ to, why string }
	var all []missing
	runs, who := map[string]bool{}, map[missing][]string{}
	for _, p := range f.processes {
		runs[p.name] = p.connected()
	}
	for _, p := range f.processes {
		if !p.connected() {
			continue
		}
		for _, row := range p.seen.Report.Table {
			link := missing{row.Name, row.Unlinked}
			if row.Unlinked == "" || row.Name == p.name || !runs[row.Name] {
				continue
			}
			if who[link] == nil {
				all = append(all, link)
			}
			who[link] = appendNew(who[link], p.name)
		}
	}
	const most = 3
	var sentences []string
	for _, link := range all[:min(len(all), most)] {
		from := who[link]
		sentences = append(sentences, fmt.Sprintf("%s %s no link to %s: %s", enumerate(from),
			plural(len(from), "has", "have"), link.to, link.why))
	}
	if n := len(all) - most; n > 0 {
		sentences = append(sentences, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(sentences, "; ")
}
