package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// Register adds a task type that runs h. P is a struct: its json tags name the parameters, its jsonschema tags say more
// about them ("required,title=User,minimum=1"), and only what is tagged as required must be given; struct{} takes none.
// Parameters of the type any hold numbers as float64; json.Number and json.RawMessage keep every digit. The result R is
// kept as JSON; struct{} and a nil result are kept as none. What is wrong with the type or an option is an error of
// Registry.Err.
func Register[P, R any](r *Registry, name string, h func(context.Context, P) (R, error), opts ...Option) {
	d := Definition{Name: name, Kind: KindGo, Policy: DefaultPolicy()}
	for _, opt := range opts {
		opt(&d)
	}
	schema, err := schemaOf(reflect.TypeFor[P]())
	if err != nil {
		_ = r.fail(name, err) // which Err gives
		return
	}
	schema.decodes = func(params json.RawMessage) error {
		_, err := decodeParams[P](params)
		return err
	}
	d.Schema = schema
	if h != nil {
		d.Handler = typedHandler(schema, h)
	}
	_ = r.Add(d) // Err reports it
}

// typedHandler checks the stored parameters again: the program may have changed since they were accepted, and a field
// that is required by now must not reach the handler as zero.
func typedHandler[P, R any](schema *Schema, h func(context.Context, P) (R, error)) Handler {
	return func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
		if err := schema.fit(params); err != nil {
			return nil, err
		}
		p, err := decodeParams[P](params)
		if err != nil {
			return nil, err
		}
		result, err := h(ctx, p)
		if err != nil {
			return nil, err
		}
		return encodeResult(result)
	}
}

func decodeParams[P any](params json.RawMessage) (P, error) {
	var p P
	err := json.Unmarshal(params, &p)
	if err == nil {
		return p, nil
	}
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return p, Invalid("", "handler_says", cleanText(ErrorText(err), maxMessageBytes))
	}
	return p, &InvalidError{Fields: []FieldError{goTypeFault(wrong).At(fieldPointer(wrong.Field, params))}}
}

// ErrResult marks a result that is not JSON. The run has failed for good: its work is done, and would be done twice.
var ErrResult = errors.New("the result is not JSON")

func encodeResult(result any) (json.RawMessage, error) {
	switch raw := result.(type) {
	case nil, struct{}:
		return nil, nil
	case json.RawMessage: // kept byte for byte
		if len(raw) == 0 {
			return nil, nil
		}
		if !json.Valid(raw) {
			return nil, ErrResult
		}
		return raw, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // pages escape for themselves; people read the result on other ways, too
	if err := enc.Encode(result); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrResult, err)
	}
	raw := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if string(raw) == "null" {
		return nil, nil
	}
	return raw, nil
}
