package tasks

import (
	"encoding/json"
	"fmt"
)

// External is what a configuration file says of a type whose handler is not Go code.
type External struct {
	Name        string
	Description string
	Params      json.RawMessage // JSON Schema of the parameters; empty means any object
	Policy      Policy          // whole: to change a part, begin with DefaultPolicy
}

// AddCommand registers a type whose runs start a program. The error names the type and what is wrong; Err reports it too.
func AddCommand(r *Registry, e External, c Command) error {
	if err := c.Validate(); err != nil {
		return r.fail(e.Name, err)
	}
	return e.add(r, KindCommand, c.handler())
}

// AddHTTP registers a type whose runs call an HTTP endpoint. The error names the type and what is wrong; Err
// reports it too.
func AddHTTP(r *Registry, e External, h HTTP) error {
	if err := h.Validate(); err != nil {
		return r.fail(e.Name, err)
	}
	return e.add(r, KindHTTP, h.handler())
}

func (e External) add(r *Registry, kind string, handler Handler) error {
	schema := AnyObject()
	if len(e.Params) > 0 {
		var err error
		if schema, err = CompileSchema(e.Params); err != nil {
			return r.fail(e.Name, fmt.Errorf("params: %w", err))
		}
	}
	return r.Add(Definition{
		Name: e.Name, Description: e.Description, Kind: kind, Schema: schema, Policy: e.Policy, Handler: handler,
	})
}
