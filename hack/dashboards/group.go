package main

import g "github.com/podesta-dev/podesta/hack/dashboards/grafana"

// group is the dashboard of one group.
func group() g.Dashboard {
	return dashboard("podesta-group", "Podesta / Group",
		"One group: who coordinates, who follows, and why that changed.",
		[]g.Variable{
			g.QueryVariable("namespace", "Namespace", "label_values(podesta_agent_group_info, namespace)"),
			g.QueryVariable("group", "Group",
				`label_values(podesta_agent_group_info{namespace="$namespace"}, group)`),
		},
		g.Row{Height: 4, Panels: groupNumbers()},
		g.Row{Height: 8, Panels: []g.Panel{processes(), coordinators()}},
		g.Row{Height: 6, Panels: []g.Panel{
			g.StateTimeline("Candidates", "Which processes could coordinate.",
				yesNo("candidate", good, "no candidate", away),
				query("max by (pod) (podesta_agent_candidate§)", ofGroup, "{{pod}}")),
			g.StateTimeline("What is wrong", "Every reason for which the group is degraded or stalled.",
				yesNo("holds", waiting, "over", away),
				query("max by (reason) (podesta_group_degraded§ == 1)", ofGroup, "{{reason}}"),
				query("max by (reason) (podesta_group_stalled§ == 1)", ofGroup, "stalled: {{reason}}")),
		}},
		g.Row{Height: 7, Panels: groupElections()},
		g.Row{Height: 7, Panels: groupLease()},
		g.Row{Height: 7, Panels: groupLinks()},
		g.Row{Height: 7, Panels: groupTraffic()},
	)
}

// processes is the heart: a row for each process, with its state. The agents say it themselves, so
// it does not depend on the manager.
func processes() g.Panel {
	return g.StateTimeline("Processes",
		"What each agent says of itself. Not reached: Prometheus got no answer from it.",
		map[string]g.Word{
			"0": {Text: "not reached", Color: bad, Index: 0},
			"1": {Text: "no coordinator", Color: waiting, Index: 1},
			"2": {Text: "follows", Color: calm, Index: 2},
			"3": {Text: "coordinates", Color: good, Index: 3},
		},
		query("max by (pod) (1 + podesta_agent_has_coordinator§ + podesta_agent_is_coordinator§) "+
			"or max by (pod) (up§)", ofGroup, "{{pod}}"))
}

// coordinators has a row for each process that acts, and for each that the manager shows.
func coordinators() g.Panel {
	return g.StateTimeline("Coordinators",
		"Who may act, by its own agent, and whom the manager has published.",
		yesNo("coordinates", good, "does not", away),
		query("max by (pod) (podesta_agent_is_coordinator§ == 1)", ofGroup, "{{pod}} acts"),
		query("max by (pod) (podesta_group_coordinator§)", ofGroup, "{{pod}} published"))
}

func groupNumbers() []g.Panel {
	blue := []g.Step{g.Base(calm)}
	return []g.Panel{
		g.Stat("Coordinator", "As published.", "none", g.Name, []g.Step{g.Base(good)},
			query("max by (pod) (podesta_group_coordinator§)", ofGroup, "{{pod}}")),
		g.Stat("Acting", "Processes that may act. More than one: two coordinators.", "short", g.Value,
			[]g.Step{g.Base(bad), g.From(1, good), g.From(2, bad)},
			query("sum(podesta_agent_is_coordinator§)", ofGroup, "")),
		g.Stat("Failures tolerated", "As the coordinator sees it.", "short", g.Value,
			[]g.Step{g.Base(waiting), g.From(1, good)},
			query("max(podesta_agent_tolerated_failures§ and podesta_agent_is_coordinator == 1)",
				ofGroup, "")),
		g.Stat("Processes reached", "Agents that Prometheus reaches.", "short", g.Value, blue,
			query("sum(up§)", ofGroup, "")),
		g.Stat("Voters", "On the roster; 0 in a Classic group.", "short", g.Value, blue,
			query("max(podesta_agent_voters§)", ofGroup, "")),
		g.Stat("Ballot", "The second part of the epoch, as published.", "none", g.Value, blue,
			query("max(podesta_group_epoch§) % 1048576", ofGroup, "")),
	}
}

func groupElections() []g.Panel {
	return []g.Panel{
		g.TimeSeries("Elections", "That gave a process a coordinator, by why it took part.", "short",
			increase("sum by (reason)", "podesta_agent_elections_total", ofGroup, "{{reason}}")),
		g.TimeSeries("How long processes were without a coordinator", "In elections.", "s",
			quantiles("podesta_agent_election_duration_seconds", ofGroup)...),
		g.TimeSeries("Suspicions and changes", "Of the coordinator.", "short",
			increase("sum", "podesta_agent_suspicions_total", ofGroup, "suspicions"),
			increase("max", "podesta_agent_coordinator_changes_total", ofGroup, "changes"),
			query("max(podesta_agent_peers_disagreeing§)", ofGroup, "peers that disagree")),
	}
}

func groupLease() []g.Panel {
	return []g.Panel{
		g.TimeSeries("Lease: time that is left",
			"How long a process may still act without a renewal.", "s",
			query("max by (pod) (podesta_agent_lease_remaining_seconds§)", ofGroup, "{{pod}}")),
		g.TimeSeries("Lease: renewals", "From the request to the grant of one process.", "s",
			quantiles("podesta_agent_lease_renewal_duration_seconds", ofGroup)...),
		g.TimeSeries("Lapses, pauses, failed writes",
			"Leases that ran out; who was late when one did, or became longer; agents that stood still; "+
				"writes to the state directory that failed.",
			"short",
			increase("sum", "podesta_agent_lease_lapses_total", ofGroup, "lapses"),
			increase("sum by (late)", "podesta_agent_lease_delays_total", ofGroup, "delays: {{late}}"),
			increase("sum", "podesta_agent_loop_pauses_total", ofGroup, "pauses"),
			increase("sum", "podesta_agent_state_write_failures_total", ofGroup, "failed writes")),
	}
}

func groupLinks() []g.Panel {
	return []g.Panel{
		g.TimeSeries("Links that are open", "Of each process, to others.", "short",
			query("max by (pod) (podesta_agent_links_open§)", ofGroup, "{{pod}}")),
		g.TimeSeries("T", "Within which a healthy process answers, as measured.", "s",
			query("max by (pod) (podesta_agent_timeout_seconds§)", ofGroup, "{{pod}}")),
		g.TimeSeries("Rosters behind the newest", "In generations, by whoever uses the older one.",
			"short",
			query("max by (pod) (scalar(max(podesta_agent_roster_generation§)) "+
				"- podesta_agent_roster_generation§)", ofGroup, "{{pod}}")),
	}
}

func groupTraffic() []g.Panel {
	const refused = `{namespace="$namespace", group="$group", granted="false"}`
	return []g.Panel{
		g.TimeSeries("Messages of the election", "", "cps",
			rate("sum by (kind)", "podesta_agent_messages_sent_total", ofGroup, "{{kind}}")),
		g.TimeSeries("Requests of the lease protocol", "", "cps",
			rate("sum by (kind)", "podesta_agent_lease_requests_sent_total", ofGroup, "{{kind}}"),
			rate("sum", "podesta_agent_lease_responses_sent_total", refused, "refusals")),
		g.TimeSeries("Failure detector, and losses", "", "cps",
			rate("sum", "podesta_agent_questions_sent_total", ofGroup, "questions"),
			rate("sum", "podesta_agent_answers_sent_total", ofGroup, "answers"),
			rate("sum", "podesta_agent_links_dropped_messages_total", ofGroup, "dropped messages")),
	}
}
