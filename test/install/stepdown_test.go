package install

import (
	"testing"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// TestWhoMayAskForAStepDown: to change a group is not enough to have its coordinator step down; the
// roles edit and admin have the verb for it.
func TestWhoMayAskForAStepDown(t *testing.T) {
	namespace := newNamespace(t)
	editor := person(t, "jane", "podesta-electiongroup-editor", namespace)
	admin := person(t, "anna", "podesta-electiongroup-admin", namespace)
	_, err := kubectl("create", "role", "annotator", "-n", namespace, "--resource=electiongroups.podesta.dev",
		"--verb=get,list,watch,create,update,patch")
	must(t, err)
	bind(t, getGroups("mary", namespace), "rolebinding", "mary", "-n", namespace, "--role=annotator", "--user=mary")
	annotator := user(t, "mary")
	stepDown := request{v1.StepDownAnnotation, "step-down", "podesta-step-down"}
	stepDown.awaitPolicy(t, annotator, namespace)
	stepDown.test(t, namespace, map[string]patched{
		"who may annotate asks":            {annotator, "", stepDown.annotate(`"{}"`), stepDown.needs() + namespace},
		"who may annotate changes it":      {annotator, "{}", stepDown.annotate(`"{ }"`), stepDown.needs() + namespace},
		"who may annotate empties it":      {annotator, "{}", stepDown.annotate(`""`), stepDown.needs() + namespace},
		"who may annotate takes it away":   {annotator, "{}", stepDown.annotate(`null`), ""},
		"who may annotate says the same":   {annotator, "{}", stepDown.annotate(`"{}"`), ""},
		"who may annotate edits all else":  {annotator, "{}", stepDown.edit(""), ""},
		"who may annotate, with an edit":   {annotator, "", stepDown.edit(`"{}"`), stepDown.needs()},
		"who may annotate, without either": {annotator, "", stepDown.edit(""), ""},
		"an editor asks":                   {editor, "", stepDown.annotate(`"{}"`), ""},
		"an editor changes it":             {editor, "{}", stepDown.annotate(`"{ }"`), ""},
		"an admin asks":                    {admin, "", stepDown.annotate(`"{}"`), ""},
	})
	check(t, annotator.Create(t.Context(), stepDown.group(namespace, "made")), stepDown.needs())
	check(t, editor.Create(t.Context(), stepDown.group(namespace, "made")), "")
}
