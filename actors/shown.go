package actors

import "reax/tasks"

// shownParams are parameters of a type as anybody may see them, also in the audit and the log. What is secret of a type
// that is not known here, nobody can tell: all its values are hidden.
func (c *core) shownParams(typ, params string) string {
	if d, ok := c.registry.Lookup(typ); ok && d.Schema != nil {
		return d.Schema.Mask(params)
	}
	return tasks.MaskAll(params)
}
