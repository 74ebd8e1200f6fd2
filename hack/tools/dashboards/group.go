package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// group is the dashboard of one group.
func group() *classic {
	d := newDashboard("podesta-group", "Podesta / Group",
		"One group: who coordinates, who follows, and why that changed.")
	d.WithVariable(variable("namespace", "Namespace",
		"label_values(podesta_agent_group_info, namespace)"))
	d.WithVariable(variable("group", "Group",
		`label_values(podesta_agent_group_info{namespace="$namespace"}, group)`))
	row(d, 4, groupNumbers()...)
	row(d, 8, processes(), coordinators())
	row(d, 6,
		states("Candidates", "Which processes could coordinate.",
			yesNo("candidate", good, "no candidate", away),
			query("max by (pod) (podesta_agent_candidate§)", ofGroup, "{{pod}}")),
		states("What is wrong", "Every reason for which the group is degraded or stalled.",
			yesNo("holds", waiting, "over", away),
			query("max by (reason) (podesta_group_degraded§ == 1)", ofGroup, "{{reason}}"),
			query("max by (reason) (podesta_group_stalled§ == 1)", ofGroup, "stalled: {{reason}}")),
	)
	row(d, 7, groupElections()...)
	row(d, 7, groupLease()...)
	row(d, 7, groupLinks()...)
	row(d, 7, groupTraffic()...)
	return d
}

// processes is the heart: a row for each process, with its state. The agents say it themselves, so
// it does not depend on the manager.
func processes() cog.Builder[dashboard.Panel] {
	return states("Processes",
		"What each agent says of itself. Not reached: Prometheus got no answer from it.",
		map[string]dashboard.ValueMappingResult{
			"0": word(0, "not reached", bad),
			"1": word(1, "no coordinator", waiting),
			"2": word(2, "follows", calm),
			"3": word(3, "coordinates", good),
		},
		query("max by (pod) (1 + podesta_agent_has_coordinator§ + podesta_agent_is_coordinator§) "+
			"or max by (pod) (up§)", ofGroup, "{{pod}}"))
}

// coordinators has a row for each process that acts, and for each that the manager shows.
func coordinators() cog.Builder[dashboard.Panel] {
	return states("Coordinators",
		"Who may act, by its own agent, and whom the manager has published.",
		yesNo("coordinates", good, "does not", away),
		query("max by (pod) (podesta_agent_is_coordinator§ == 1)", ofGroup, "{{pod}} acts"),
		query("max by (pod) (podesta_group_coordinator§)", ofGroup, "{{pod}} published"))
}

func groupNumbers() []cog.Builder[dashboard.Panel] {
	blue := []dashboard.Threshold{base(calm)}
	return []cog.Builder[dashboard.Panel]{
		number("Coordinator", "As published.", "none", []dashboard.Threshold{base(good)},
			query("max by (pod) (podesta_group_coordinator§)", ofGroup, "{{pod}}")).
			TextMode(common.BigValueTextModeName),
		number("Acting", "Processes that may act. More than one: two coordinators.", "short",
			[]dashboard.Threshold{base(bad), from(1, good), from(2, bad)},
			query("sum(podesta_agent_is_coordinator§)", ofGroup, "")),
		number("May fail", "As the coordinator sees it.", "short",
			[]dashboard.Threshold{base(waiting), from(1, good)},
			query("max(podesta_agent_may_fail§ and podesta_agent_is_coordinator == 1)",
				ofGroup, "")),
		number("Processes reached", "Agents that Prometheus reaches.", "short", blue,
			query("sum(up§)", ofGroup, "")),
		number("Voters", "On the roster; 0 in a Classic group.", "short", blue,
			query("max(podesta_agent_voters§)", ofGroup, "")),
		number("Ballot", "The second part of the epoch, as published.", "none", blue,
			query("max(podesta_group_epoch§) % 1048576", ofGroup, "")),
	}
}

func groupElections() []cog.Builder[dashboard.Panel] {
	return []cog.Builder[dashboard.Panel]{
		lines("Elections", "That gave a process a coordinator, by why it took part.", "short",
			increase("sum by (reason)", "podesta_agent_elections_total", ofGroup, "{{reason}}")),
		lines("How long processes were without a coordinator", "In elections.", "s",
			quantiles("podesta_agent_election_duration_seconds", ofGroup)...),
		lines("Suspicions and changes", "Of the coordinator.", "short",
			increase("sum", "podesta_agent_suspicions_total", ofGroup, "suspicions"),
			increase("max", "podesta_agent_coordinator_changes_total", ofGroup, "changes"),
			query("max(podesta_agent_peers_disagreeing§)", ofGroup, "peers that disagree")),
	}
}

func groupLease() []cog.Builder[dashboard.Panel] {
	return []cog.Builder[dashboard.Panel]{
		lines("Lease: time that is left",
			"How long a process may still act without a renewal.", "s",
			query("max by (pod) (podesta_agent_lease_remaining_seconds§)", ofGroup, "{{pod}}")),
		lines("Lease: renewals", "From the request to the grant of one process.", "s",
			quantiles("podesta_agent_lease_renewal_duration_seconds", ofGroup)...),
		lines("Lapses, pauses, failed writes",
			"Leases that ran out; who was late when one did, or became longer; agents that stood still; "+
				"writes to the state directory that failed.",
			"short",
			increase("sum", "podesta_agent_lease_lapses_total", ofGroup, "lapses"),
			increase("sum by (late)", "podesta_agent_lease_delays_total", ofGroup, "delays: {{late}}"),
			increase("sum", "podesta_agent_loop_pauses_total", ofGroup, "pauses"),
			increase("sum", "podesta_agent_state_write_failures_total", ofGroup, "failed writes")),
	}
}

func groupLinks() []cog.Builder[dashboard.Panel] {
	return []cog.Builder[dashboard.Panel]{
		lines("Links that are open", "Of each process, to others.", "short",
			query("max by (pod) (podesta_agent_links_open§)", ofGroup, "{{pod}}")),
		lines("T", "Within which a healthy process answers, as measured.", "s",
			query("max by (pod) (podesta_agent_timeout_seconds§)", ofGroup, "{{pod}}")),
		lines("Rosters behind the newest", "In generations, by whoever uses the older one.",
			"short",
			query("max by (pod) (scalar(max(podesta_agent_roster_generation§)) "+
				"- podesta_agent_roster_generation§)", ofGroup, "{{pod}}")),
	}
}

func groupTraffic() []cog.Builder[dashboard.Panel] {
	const refused = `{namespace="$namespace", group="$group", granted="false"}`
	return []cog.Builder[dashboard.Panel]{
		lines("Messages of the election", "", "cps",
			rate("sum by (kind)", "podesta_agent_messages_sent_total", ofGroup, "{{kind}}")),
		lines("Requests of the lease protocol", "", "cps",
			rate("sum by (kind)", "podesta_agent_lease_requests_sent_total", ofGroup, "{{kind}}"),
			rate("sum", "podesta_agent_lease_responses_sent_total", refused, "refusals")),
		lines("Failure detector, and losses", "", "cps",
			rate("sum", "podesta_agent_questions_sent_total", ofGroup, "questions"),
			rate("sum", "podesta_agent_answers_sent_total", ofGroup, "answers"),
			rate("sum", "podesta_agent_links_dropped_messages_total", ofGroup, "dropped messages")),
	}
}
