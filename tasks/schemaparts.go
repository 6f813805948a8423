package tasks

import (
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// besides are the schemas that a value has to do with when it has to do with node, because node names them: a $ref, each
// of an allOf, either branch of an if.
func besides(node *jsonschema.Schema) []*jsonschema.Schema {
	parts := slices.Concat([]*jsonschema.Schema{node.Ref, node.RecursiveRef, node.Not, node.If, node.Then, node.Else}, node.AllOf, node.AnyOf, node.OneOf)
	if node.DynamicRef != nil {
		parts = append(parts, node.DynamicRef.Ref)
	}
	for _, part := range node.DependentSchemas {
		parts = append(parts, part)
	}
	for _, part := range node.Dependencies {
		if part, ok := part.(*jsonschema.Schema); ok {
			parts = append(parts, part)
		}
	}
	return present(parts)
}

// inPlace is node with everything that describes the same value.
func inPlace(node *jsonschema.Schema) []*jsonschema.Schema {
	all := present([]*jsonschema.Schema{node})
	for i := 0; i < len(all); i++ {
		for _, part := range besides(all[i]) {
			if !slices.Contains(all, part) {
				all = append(all, part)
			}
		}
	}
	return all
}

// restOf are the schemas of values whose names node does not list.
func restOf(node *jsonschema.Schema) []*jsonschema.Schema {
	other, _ := node.AdditionalProperties.(*jsonschema.Schema)
	return present([]*jsonschema.Schema{other, node.UnevaluatedProperties})
}

// entriesOf are the schemas of the entries of a list, and of what a text holds.
func entriesOf(node *jsonschema.Schema) []*jsonschema.Schema {
	parts := append(slices.Clone(node.PrefixItems), node.Items2020, node.Contains, node.UnevaluatedItems, node.ContentSchema)
	switch items := node.Items.(type) {
	case *jsonschema.Schema:
		parts = append(parts, items)
	case []*jsonschema.Schema:
		parts = append(parts, items...)
	}
	if more, ok := node.AdditionalItems.(*jsonschema.Schema); ok {
		parts = append(parts, more)
	}
	return present(parts)
}

func present(parts []*jsonschema.Schema) []*jsonschema.Schema {
	return slices.DeleteFunc(parts, func(part *jsonschema.Schema) bool { return part == nil })
}

// placeOf is where in its document a compiled schema stands, as a JSON pointer.
func placeOf(node *jsonschema.Schema) string {
	_, fragment, _ := strings.Cut(node.Location, "#")
	if place, err := url.PathUnescape(fragment); err == nil {
		return place
	}
	return fragment
}
