package check

import (
	"encoding/json"
	"github.com/podesta-dev/podesta/internal/display"
	"reflect"
	"slices"
	"strings"

	extensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// definition checks the CustomResourceDefinition of groups, and returns false if there is none.
func (b *book) definition(f *Facts) (there bool) {
	b.section = "definition of groups"
	const defined = "electiongroups.podesta.dev is defined"
	if unread(b, f.Definition, defined) {
		return true // perhaps
	}
	crd := f.Definition.Value
	if crd == nil {
		b.judge(defined, Failed, "it is not", "Install Podesta: docs/start/install.md.")
		return false
	}
	b.judge(defined, Failed, refused(crd),
		"See kubectl describe crd electiongroups.podesta.dev. Another "+
			"definition may have taken one of its names.")

	const same = "the definition has the fields that this program knows, and no others"
	missing, more := compare(crd)
	switch {
	case len(missing) > 0:
		b.judge(same, Warning, "it lacks "+display.Enumerate(missing),
			"If the manager is as new as this program, apply "+
				"its definition: what the manager writes to fields that are missing is lost "+
				"(docs/guides/upgrade.md).")
	default:
		found := ""
		if len(more) > 0 {
			found = "this program does not know " + display.Enumerate(more)
		}
		b.judge(same, Warning, found, "Take the kubectl election of the manager's version.")
	}
	return true
}

// refused returns why the API server does not serve a definition; empty if it does.
func refused(crd *extensionsv1.CustomResourceDefinition) string {
	wanted := []extensionsv1.CustomResourceDefinitionConditionType{extensionsv1.NamesAccepted,
		extensionsv1.Established}
	for _, want := range wanted {
		at := slices.IndexFunc(crd.Status.Conditions,
			func(c extensionsv1.CustomResourceDefinitionCondition) bool { return c.Type == want })
		switch {
		case at < 0:
			return "the API server has not looked at it yet: it has no condition " + string(want)
		case crd.Status.Conditions[at].Status != extensionsv1.ConditionTrue:
			return string(want) + " is " + string(crd.Status.Conditions[at].Status) + ": " +
				crd.Status.Conditions[at].Message
		}
	}
	return ""
}

// compare returns the fields of a group's spec and status that the definition lacks, and those that
// only the definition has, as paths.
func compare(crd *extensionsv1.CustomResourceDefinition) (missing, more []string) {
	at := slices.IndexFunc(crd.Spec.Versions,
		func(v extensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == v1.GroupVersion.Version && v.Schema != nil && v.Schema.OpenAPIV3Schema != nil
		})
	if at < 0 {
		return []string{"version " + v1.GroupVersion.Version}, nil
	}
	known, defined := map[string]bool{}, map[string]bool{}
	root := reflect.TypeFor[v1.ElectionGroup]()
	for _, part := range []string{"Spec", "Status"} {
		field, _ := root.FieldByName(part)
		name := strings.ToLower(part)
		addKnown(known, name, field.Type)
		schema := crd.Spec.Versions[at].Schema.OpenAPIV3Schema.Properties[name]
		addDefined(defined, name, &schema)
	}
	return without(known, defined), without(defined, known)
}

// without returns the paths of one set that another lacks, without those below such a path.
func without(all, but map[string]bool) (paths []string) {
	for path := range all {
		above := path[:max(strings.LastIndex(path, "."), 0)]
		if !but[path] && (above == "" || but[above]) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// addKnown adds the path of a Go type and of its fields, by their names in JSON.
func addKnown(paths map[string]bool, path string, t reflect.Type) {
	paths[path] = true
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	marshals := reflect.TypeFor[json.Marshaler]()
	if t.Kind() != reflect.Struct || t.Implements(marshals) ||
		reflect.PointerTo(t).Implements(marshals) {
		return
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			addKnown(paths, path+"."+name, field.Type)
		}
	}
}

// addDefined adds the path of a schema and of its properties.
func addDefined(paths map[string]bool, path string, s *extensionsv1.JSONSchemaProps) {
	paths[path] = true
	for s.Items != nil && s.Items.Schema != nil {
		s = s.Items.Schema
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		s = s.AdditionalProperties.Schema
	}
	for name, property := range s.Properties {
		addDefined(paths, path+"."+name, &property)
	}
}
