package main

import g "github.com/podesta-dev/podesta/hack/dashboards/grafana"

const nameOfGroup = "{{namespace}}/{{group}}"

// fleet is the dashboard of all groups.
func fleet() g.Dashboard {
	namespace := g.QueryVariable("namespace", "Namespace",
		"label_values(podesta_group_has_coordinator, namespace)")
	namespace.Multi, namespace.IncludeAll, namespace.AllValue = true, true, ".*"
	return dashboard("podesta-fleet", "Podesta / Fleet",
		"All groups: who is without a coordinator, what is wrong, how often coordinators change, and "+
			"how the manager is.",
		[]g.Variable{namespace},
		g.Row{Height: 4, Panels: fleetNumbers()},
		g.Row{Height: 8, Panels: []g.Panel{
			g.StateTimeline("Groups",
				"Whether each group has a coordinator, as the manager published it.",
				yesNo("has a coordinator", good, "has none", bad),
				query("max by (namespace, group) (podesta_group_has_coordinator§)", ofNamespaces,
					nameOfGroup)),
			g.StateTimeline("What is wrong", "Every reason for which a group is degraded or stalled.",
				yesNo("holds", waiting, "over", away),
				query("max by (namespace, group, reason) (podesta_group_degraded§ == 1)", ofNamespaces,
					nameOfGroup+" {{reason}}"),
				query("max by (namespace, group, reason) (podesta_group_stalled§ == 1)", ofNamespaces,
					nameOfGroup+" stalled: {{reason}}")),
		}},
		g.Row{Height: 8, Panels: fleetGroups()},
		g.Row{Height: 7, Panels: fleetManager()},
	)
}

func fleetNumbers() []g.Panel {
	none := []g.Step{g.Base(good), g.From(1, bad)}
	few := []g.Step{g.Base(good), g.From(1, waiting)}
	some := []g.Step{g.Base(bad), g.From(1, good)}
	blue := []g.Step{g.Base(calm)}
	count := func(expr string) g.Query {
		return query("count("+expr+") or vector(0)", ofNamespaces, "")
	}
	return []g.Panel{
		g.Stat("How many", "Groups that the manager reconciles.", "short", g.Value, blue,
			query("max(podesta_groups)", "", "")),
		g.Stat("Without a coordinator", "Of the groups that have processes.", "short", g.Value, none,
			count("max by (namespace, group) (podesta_group_has_coordinator§) == 0 "+
				"unless max by (namespace, group) (podesta_group_processes) == 0")),
		g.Stat("Stalled", "Groups that wait for a person.", "short", g.Value, none,
			count("max by (namespace, group) (podesta_group_stalled§) == 1")),
		g.Stat("Degraded", "Groups in which something is wrong.", "short", g.Value, few,
			count("max by (namespace, group) (podesta_group_degraded§) == 1")),
		g.Stat("Managers that lead", "1 in operation.", "short", g.Value, some,
			query("sum(leader_election_master_status§) or vector(0)",
				`{name="podesta-manager", group=""}`, "")),
		g.Stat("Agents connected", "To the manager that leads. Elections do not need it.", "short",
			g.Value, blue, query("max(podesta_agents_connected)", "", "")),
	}
}

func fleetGroups() []g.Panel {
	return []g.Panel{
		g.TimeSeries("Changes of the coordinator", "As published, for each group.", "short",
			increase("max by (namespace, group)", "podesta_elections_total", ofNamespaces, nameOfGroup)),
		g.TimeSeries("Failures that are tolerated",
			"How many more processes may fail, as the coordinator of each group sees it.", "short",
			query("max by (namespace, group) (podesta_agent_tolerated_failures§ "+
				"and podesta_agent_is_coordinator == 1)", ofNamespaces, nameOfGroup)),
		g.TimeSeries("Processes that are connected", "To the manager, of all in the group's table.",
			"percentunit",
			query("max by (namespace, group) (podesta_group_processes_connected§) "+
				"/ max by (namespace, group) (podesta_group_processes§ > 0)", ofNamespaces, nameOfGroup)),
	}
}

func fleetManager() []g.Panel {
	const ofController = `{controller="electiongroup"}`
	return []g.Panel{
		g.TimeSeries("Passes over groups", "Each reconciles one group.", "ops",
			rate("sum by (result)", "controller_runtime_reconcile_total", ofController, "{{result}}")),
		g.TimeSeries("How long a pass takes", "", "s",
			quantiles("controller_runtime_reconcile_time_seconds", ofController)...),
		g.TimeSeries("Writes to the status of groups", "", "ops",
			rate("sum by (part, result)", "podesta_status_writes_total", "", "{{part}}: {{result}}")),
		g.TimeSeries("Certificates: time that is left", "Of the processes, the shortest.", "s",
			query("min by (certificate) (podesta_certificate_expiration_timestamp_seconds§ > 0) - time()",
				`{certificate!="ca"}`, "manager: {{certificate}}"),
			query("min(podesta_agent_certificate_expiration_timestamp_seconds§ > 0) - time()",
				ofNamespaces, "processes")),
	}
}
