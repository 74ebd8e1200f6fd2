package install

import (
	"testing"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// TestWhoMayForget: to edit a group is not enough to have its voters forgotten, which can have two
// processes act at once.
func TestWhoMayForget(t *testing.T) {
	namespace := newNamespace(t)
	editor := person(t, "jane", "podesta-electiongroup-editor", namespace)
	admin := person(t, "anna", "podesta-electiongroup-admin", namespace)
	forget := request{v1.ForgetAnnotation, "forget", "podesta-forget"}
	forget.awaitPolicy(t, editor, namespace)
	forget.test(t, namespace, map[string]patched{
		"an editor asks":                   {editor, "", forget.annotate(`"{}"`), forget.needs() + namespace},
		"an editor changes a request":      {editor, "{}", forget.annotate(`"{ }"`), forget.needs() + namespace},
		"an editor empties it":             {editor, "{}", forget.annotate(`""`), forget.needs() + namespace},
		"an editor takes it away":          {editor, "{}", forget.annotate(`null`), ""},
		"an editor edits all else":         {editor, "{}", forget.edit(""), ""},
		"an editor says the same":          {editor, "{}", forget.annotate(`"{}"`), ""},
		"an editor, without a request":     {editor, "", forget.edit(""), ""},
		"an editor, together with an edit": {editor, "", forget.edit(`"{}"`), forget.needs()},
		"an admin asks":                    {admin, "", forget.annotate(`"{}"`), ""},
		"an admin changes a request":       {admin, "{}", forget.annotate(`"{ }"`), ""},
	})
	check(t, editor.Create(t.Context(), forget.group(namespace, "made")), forget.needs())
	check(t, admin.Create(t.Context(), forget.group(namespace, "made")), "")
}
