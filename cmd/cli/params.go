package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const maxParamsInput = 4 << 20

// readParams reads --params: JSON, @file, or - for the standard input.
func readParams(a *app, flag string) (json.RawMessage, error) {
	text := []byte(flag)
	source := io.Reader(nil)
	if flag == "-" {
		source = a.stdin
	} else if name, ok := strings.CutPrefix(flag, "@"); ok {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("reading the parameters: %w", err)
		}
		defer f.Close()
		source = f
	}
	if source != nil {
		var err error
		if text, err = io.ReadAll(io.LimitReader(source, maxParamsInput+1)); err != nil {
			return nil, fmt.Errorf("reading the parameters: %w", err)
		}
		if len(text) > maxParamsInput {
			return nil, fmt.Errorf("the parameters are longer than %d bytes", maxParamsInput)
		}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		why := "it is null"
		if err != nil {
			why = err.Error()
		}
		return nil, usagef("--params must be a JSON object: %s", why)
	}
	return bytes.TrimSpace(text), nil
}

// typeAnswer is what the commands read of a task type in the API's answers.
type typeAnswer struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Kind        string          `json:"kind"`
	Schema      json.RawMessage `json:"schema"`
	Registered  bool            `json:"registered"`
	Paused      bool            `json:"paused"`
	Pool        struct {
		Concurrency int   `json:"concurrency"`
		Busy        int   `json:"busy"`
		Ready       int64 `json:"ready"`
	} `json:"pool"`
}

// typedParams makes the parameters from KEY=VALUE pairs, reading each value as what the type's schema says it is.
func typedParams(ctx context.Context, api *client, typ string, pairs []string) (json.RawMessage, error) {
	answer, err := api.get(ctx, apiPath+"/types", nil)
	if err != nil {
		return nil, err
	}
	var known struct {
		Types []typeAnswer `json:"types"`
	}
	if err := read(answer, &known); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(known.Types, func(t typeAnswer) bool { return t.Name == typ })
	if i < 0 {
		var names []string
		for _, t := range known.Types {
			names = append(names, t.Name)
		}
		if near := nearest(typ, names); near != "" {
			return nil, fmt.Errorf("there is no task type %q (did you mean %s?)", typ, near)
		}
		return nil, fmt.Errorf("there is no task type %q: `reax types` lists those there are", typ)
	}
	return objectOf(pairs, known.Types[i].Schema)
}

// objectOf makes a JSON object of KEY=VALUE pairs.
func objectOf(pairs []string, schema json.RawMessage) (json.RawMessage, error) {
	var out jsonWriter
	seen := map[string]bool{}
	out.WriteByte('{')
	for i, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		switch {
		case !ok || key == "":
			return nil, usagef("-p %s: must be KEY=VALUE", pair)
		case seen[key]:
			return nil, usagef("-p %s: given twice", key)
		}
		seen[key] = true
		if i > 0 {
			out.WriteByte(',')
		}
		out.text(key)
		out.WriteByte(':')
		types := propertyTypes(schema, key)
		switch {
		case len(types) == 0 || slices.Contains(types, "string"):
			out.text(text)
		case json.Valid([]byte(text)):
			out.WriteString(strings.TrimSpace(text))
		default:
			return nil, usagef("-p %s: %q is not of the type %s that the schema asks for", key, text, orList(types))
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// propertyTypes gives the JSON types that a schema allows for a property; none when it does not say.
func propertyTypes(schema json.RawMessage, property string) []string {
	type node struct {
		Type       json.RawMessage            `json:"type"`
		Ref        string                     `json:"$ref"`
		Properties map[string]json.RawMessage `json:"properties"`
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	var root node
	if json.Unmarshal(schema, &root) != nil {
		return nil
	}
	// Schemas made from Go structs keep their parts under $defs and may refer to them from the root.
	resolve := func(n node) node {
		var target node
		if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok && json.Unmarshal(root.Defs[name], &target) == nil {
			return target
		}
		return n
	}
	var field node
	if json.Unmarshal(resolve(root).Properties[property], &field) != nil {
		return nil
	}
	field = resolve(field)
	var one string
	var many []string
	if json.Unmarshal(field.Type, &one) == nil {
		return []string{one}
	}
	if json.Unmarshal(field.Type, &many) == nil {
		return many
	}
	return nil
}
