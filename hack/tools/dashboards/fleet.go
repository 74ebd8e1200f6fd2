package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

const nameOfGroup = "{{namespace}}/{{group}}"

// fleet is the dashboard of all groups.
func fleet() *classic {
	d := newDashboard("podesta-fleet", "Podesta / Fleet",
		"All groups: who is without a coordinator, what is wrong, how often coordinators change, and "+
			"how the manager is.")
	d.WithVariable(variable("namespace", "Namespace",
		"label_values(podesta_group_has_coordinator, namespace)").
		Multi(true).IncludeAll(true).AllValue(".*"))
	row(d, 4, fleetNumbers()...)
	row(d, 8,
		states("Groups", "Whether each group has a coordinator, as the manager published it.",
			yesNo("has a coordinator", good, "has none", bad),
			query("max by (namespace, group) (podesta_group_has_coordinator§)", ofNamespaces,
				nameOfGroup)),
		states("What is wrong", "Every reason for which a group is degraded or stalled.",
			yesNo("holds", waiting, "over", away),
			query("max by (namespace, group, reason) (podesta_group_degraded§ == 1)", ofNamespaces,
				nameOfGroup+" {{reason}}"),
			query("max by (namespace, group, reason) (podesta_group_stalled§ == 1)", ofNamespaces,
				nameOfGroup+" stalled: {{reason}}")),
	)
	row(d, 8, fleetGroups()...)
	row(d, 7, fleetManager()...)
	return d
}

func fleetNumbers() []cog.Builder[dashboard.Panel] {
	none := []dashboard.Threshold{base(good), from(1, bad)}
	few := []dashboard.Threshold{base(good), from(1, waiting)}
	some := []dashboard.Threshold{base(bad), from(1, good)}
	blue := []dashboard.Threshold{base(calm)}
	count := func(expr string) *prometheus.DataqueryBuilder {
		return query("count("+expr+") or vector(0)", ofNamespaces, "")
	}
	return []cog.Builder[dashboard.Panel]{
		number("How many", "Groups that the manager reconciles.", "short", blue,
			query("max(podesta_groups)", "", "")),
		number("Without a coordinator", "Of the groups that have processes.", "short", none,
			count("max by (namespace, group) (podesta_group_has_coordinator§) == 0 "+
				"unless max by (namespace, group) (podesta_group_processes) == 0")),
		number("Stalled", "Groups that wait for a person.", "short", none,
			count("max by (namespace, group) (podesta_group_stalled§) == 1")),
		number("Degraded", "Groups in which something is wrong.", "short", few,
			count("max by (namespace, group) (podesta_group_degraded§) == 1")),
		number("Managers that lead", "1 in operation.", "short", some,
			query("sum(leader_election_master_status§) or vector(0)",
				`{name="podesta-manager", group=""}`, "")),
		number("Agents connected", "To the manager that leads. Elections do not need it.", "short",
			blue, query("max(podesta_agents_connected)", "", "")),
	}
}

func fleetGroups() []cog.Builder[dashboard.Panel] {
	return []cog.Builder[dashboard.Panel]{
		lines("Changes of the coordinator", "As published, for each group.", "short",
			increase("max by (namespace, group)", "podesta_elections_total", ofNamespaces, nameOfGroup)),
		lines("Processes that may fail",
			"How many more processes may fail, as the coordinator of each group sees it.", "short",
			query("max by (namespace, group) (podesta_agent_may_fail§ "+
				"and podesta_agent_is_coordinator == 1)", ofNamespaces, nameOfGroup)),
		lines("Processes that are connected", "To the manager, of all in the group's table.",
			"percentunit",
			query("max by (namespace, group) (podesta_group_processes_connected§) "+
				"/ max by (namespace, group) (podesta_group_processes§ > 0)", ofNamespaces, nameOfGroup)),
	}
}

func fleetManager() []cog.Builder[dashboard.Panel] {
	const ofController = `{controller="electiongroup"}`
	return []cog.Builder[dashboard.Panel]{
		lines("Passes over groups", "Each reconciles one group.", "ops",
			rate("sum by (result)", "controller_runtime_reconcile_total", ofController, "{{result}}")),
		lines("How long a pass takes", "", "s",
			quantiles("controller_runtime_reconcile_time_seconds", ofController)...),
		lines("Writes to the status of groups", "", "ops",
			rate("sum by (part, result)", "podesta_status_writes_total", "", "{{part}}: {{result}}")),
		lines("Certificates: time that is left", "Of the processes, the shortest.", "s",
			query("min by (certificate) (podesta_certificate_expiration_timestamp_seconds§ > 0) - time()",
				`{certificate!="ca"}`, "manager: {{certificate}}"),
			query("min(podesta_agent_certificate_expiration_timestamp_seconds§ > 0) - time()",
				ofNamespaces, "processes")),
	}
}
