package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of a schema document and of the parameters that it checks.
const (
	MaxSchemaBytes = 256 << 10
	MaxDepth       = 100 // levels of nesting
)

// Schema is a JSON Schema (2020-12 unless it names another draft) compiled for checking. It is safe for use from many
// goroutines.
type Schema struct {
	Raw      json.RawMessage // the schema document, for the API and the forms
	compiled *jsonschema.Schema
	empty    bool                        // whether {} fits
	open     bool                        // whether any object fits
	decodes  func(json.RawMessage) error // whether a Go handler's struct takes the parameters; nil for the other kinds
	secrets  *secrets                    // what nobody is shown; nil when that is nothing
}

// CompileSchema reads a schema document. It must describe an object, may refer only to itself, and "format" is checked.
func CompileSchema(raw json.RawMessage) (*Schema, error) {
	if len(raw) > MaxSchemaBytes {
		return nil, fmt.Errorf("the schema has %d bytes: the limit is %d", len(raw), MaxSchemaBytes)
	}
	if err := CheckJSON(raw, MaxDepth); err != nil {
		return nil, fmt.Errorf("the schema is not valid JSON: %s", firstMessage(err))
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	if top, ok := doc.(map[string]any); !ok || top["type"] != "object" {
		return nil, errors.New(`the top level of the schema must say "type": "object"`)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaAddress, doc); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	compiled, err := c.Compile(schemaAddress)
	if err != nil {
		return nil, fmt.Errorf("the schema is not valid: %s", schemaFault(err))
	}
	empty := compiled.Validate(map[string]any{}) == nil
	return &Schema{Raw: bytes.Clone(raw), compiled: compiled, empty: empty, secrets: secretsOf(raw, compiled)}, nil
}

// schemaAddress is of no scheme that anything could load.
const schemaAddress = "reax:///schema"

// schemaFault says what the compiler found, without the address that only we gave to the schema.
func schemaFault(err error) string {
	var verr *jsonschema.ValidationError
	if meta, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok && errors.As(meta.Err, &verr) {
		return explain(verr).list()
	}
	if load, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return fmt.Sprintf("reference to %q: %v", strings.TrimPrefix(load.URL, "reax:///"), load.Err)
	}
	return strings.ReplaceAll(err.Error(), schemaAddress, "")
}

// noLoader refuses to fetch what a schema refers to: reading a configuration must not open files or connections.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New(`a schema may refer only to itself, as in "#/$defs/name"`)
}

var anyObject = sync.OnceValue(func() *Schema {
	s, err := CompileSchema(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		panic(err)
	}
	s.open = true
	return s
})

// AnyObject is the schema of a type that says nothing about its parameters: any JSON object.
func AnyObject() *Schema { return anyObject() }

// Check says whether params may be stored for a task of this type: they pass CheckJSON with MaxDepth, they fit the
// schema, and a Go handler's struct takes them. The error is an *InvalidError that names every bad field.
func (s *Schema) Check(params json.RawMessage) error {
	if err := CheckJSON(params, MaxDepth); err != nil {
		return err
	}
	if err := s.fit(params); err != nil {
		return err
	}
	if s.decodes != nil {
		return s.decodes(params)
	}
	return nil
}

// fit validates params that passed CheckJSON before. Numbers stay text until they are compared, so none is rounded.
func (s *Schema) fit(params json.RawMessage) error {
	if s.empty && string(params) == "{}" { // all there is to check for the many types without parameters
		return nil
	}
	if s.open && bytes.HasPrefix(bytes.TrimLeft(params, " \t\r\n"), []byte("{")) {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(params))
	if err != nil {
		return Invalid("", "json_text", cleanText(err.Error(), maxMessageBytes))
	}
	err = s.compiled.Validate(value)
	if err == nil {
		return nil
	}
	var verr *jsonschema.ValidationError
	if !errors.As(err, &verr) {
		return Invalid("", "schema")
	}
	return explain(verr)
}

func firstMessage(err error) string {
	var bad *InvalidError
	if errors.As(err, &bad) && len(bad.Fields) > 0 {
		return bad.Fields[0].Message
	}
	return err.Error()
}
