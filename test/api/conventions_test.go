package api

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type fieldSchema = apiextensionsv1.JSONSchemaProps

// TestConventions holds every field of spec and status to the Kubernetes API conventions:
// documented, bounded, mergeable, with the unit in its name.
func TestConventions(t *testing.T) {
	root := readCRD(t).Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, part := range []string{"spec", "status"} {
		visit(part, root.Properties[part], func(path string, field fieldSchema) {
			for _, wrong := range breaches(path, field) {
				t.Errorf("%s %s", path, wrong)
			}
		})
	}
}

// TestBreachesAreSeen tries the judge itself on fields that break each convention.
func TestBreachesAreSeen(t *testing.T) {
	length := int64(9)
	for name, field := range map[string]fieldSchema{
		"unlike its name":        {Type: "boolean", Description: "whether it is"},
		"a text without end":     {Type: "string", Description: "f is"},
		"a list without end":     {Type: "array", XListType: &atomic, Description: "f is"},
		"a list without a type":  {Type: "array", MaxItems: &length, Description: "f is"},
		"a fraction":             {Type: "number", Description: "f is"},
		"an integer of no width": {Type: "integer", Description: "f is"},
		"a nullable field":       {Type: "boolean", Nullable: true, Description: "f is"},
		"a map":                  {Type: "object", Description: "f is", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{}},
		"an object of anything":  {Type: "object", Description: "f is"},
	} {
		if len(breaches("spec.f", field)) != 1 {
			t.Errorf("%s: found %q; want one breach", name, breaches("spec.f", field))
		}
	}
	for _, name := range []string{"phase", "stableDuration", "heartbeatTimeout"} {
		if len(breaches("spec."+name, fieldSchema{Type: "boolean", Description: name + " is"})) != 1 {
			t.Errorf("the name %s passes", name)
		}
	}
}

var atomic = "atomic"

// visit calls the judge for a field and all that it holds. Conditions are Kubernetes' own type and
// end the walk.
func visit(path string, field fieldSchema, judge func(string, fieldSchema)) {
	judge(path, field)
	if path == "status.conditions" {
		return
	}
	for name, property := range field.Properties {
		visit(path+"."+name, property, judge)
	}
	if field.Items != nil && field.Items.Schema != nil {
		for name, property := range field.Items.Schema.Properties {
			visit(path+"[]."+name, property, judge)
		}
	}
}

// breaches says what is wrong with a field, apart from what it holds.
func breaches(path string, field fieldSchema) []string {
	var wrong []string
	check := func(ok bool, sentence string) {
		if !ok {
			wrong = append(wrong, sentence)
		}
	}
	name := path[strings.LastIndex(path, ".")+1:]
	check(strings.HasPrefix(field.Description, name+" "), "must have a description that starts with its name")
	check(!field.Nullable, "must not be nullable: leave it out instead")
	check(name != "phase", "must be conditions instead")
	check(!strings.HasSuffix(name, "Duration") && !strings.HasSuffix(name, "Timeout"), "must name its unit")

	switch field.Type {
	case "string":
		bounded := field.MaxLength != nil || len(field.Enum) > 0 || field.Format == "date-time"
		check(bounded, "must have a maximum length, or a list of values")
	case "array":
		check(field.MaxItems != nil, "must have a maximum number of items")
		check(field.XListType != nil, "must say how it is merged (listType)")
	case "object":
		check(field.AdditionalProperties == nil, "must not be a map: use a list with a key")
		marker := path == "spec.appHealth.session" // what counts is that it is there
		said := field.AdditionalProperties != nil || len(field.Properties) > 0
		check(said || marker, "must say which fields it has")
	case "integer":
		check(slices.Contains([]string{"int32", "int64"}, field.Format), "must be int32 or int64")
		check(field.Format == "" || field.Minimum != nil, "must have a minimum")
	case "number":
		check(false, "must not be a fraction: floats differ between clients")
	}
	return wrong
}
