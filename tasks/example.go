package tasks

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
)

// ExampleOf makes parameters for people to start from: what the schema gives as example or default, and for the rest of
// what it requires the smallest thing that fits. It passes the schema unless that asks for what cannot be guessed, such
// as a pattern. Of a schema that cannot be read the example is an empty object.
func ExampleOf(schema json.RawMessage) json.RawMessage {
	var top exampleNode
	empty := json.RawMessage(`{}`)
	if CheckJSON(schema, MaxDepth) != nil || json.Unmarshal(schema, &top) != nil {
		return empty
	}
	e := exampler{defs: top.Defs, left: maxExampleNodes}
	made := e.of(&top, 0)
	if !bytes.HasPrefix(made, []byte("{")) || CheckJSON(made, MaxDepth) != nil {
		return empty
	}
	return made
}

// exampleNode is what an example needs of a schema. Values stay text, so that they keep their digits.
type exampleNode struct {
	Type                 oneOrMany
	Const, Default       json.RawMessage
	Enum, Examples       []json.RawMessage
	Format               string
	MinLength, MaxLength int
	MinItems             int
	Items                *exampleNode
	Minimum, Maximum     json.Number
	ExclusiveMinimum     json.Number
	ExclusiveMaximum     json.Number
	MultipleOf           json.Number
	Required             []string
	Properties           map[string]*exampleNode
	OneOf, AnyOf, AllOf  []*exampleNode
	Ref                  string                  `json:"$ref"`
	Defs                 map[string]*exampleNode `json:"$defs"`
}

// oneOrMany is the "type" keyword: of several types the first counts.
type oneOrMany string

func (t *oneOrMany) UnmarshalJSON(raw []byte) error {
	var many []string
	if json.Unmarshal(raw, &many) == nil && len(many) > 0 {
		*t = oneOrMany(many[0])
		return nil
	}
	return json.Unmarshal(raw, (*string)(t))
}

// UnmarshalJSON takes true and false, which are schemas too, as one that says nothing.
func (n *exampleNode) UnmarshalJSON(raw []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil
	}
	type plain exampleNode
	return json.Unmarshal(raw, (*plain)(n))
}

// exampler has a budget, for a schema may refer to itself many times over.
type exampler struct {
	defs map[string]*exampleNode
	left int // nodes that may still be made
}

const (
	maxExampleNodes = 1_000
	maxExampleBytes = 64 << 10
)

func (e *exampler) of(n *exampleNode, depth int) json.RawMessage {
	e.left--
	if n == nil || depth > MaxDepth/2 || e.left < 0 {
		return json.RawMessage("null")
	}
	if given := n.given(); given != nil {
		return given
	}
	if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		return e.of(e.defs[name], depth+1)
	}
	switch n.Type {
	case "object":
		return e.object(n, depth)
	case "array":
		return e.list(n, depth)
	case "string":
		return n.text()
	case "integer", "number":
		return json.RawMessage(n.number())
	case "boolean":
		return json.RawMessage("false")
	}
	for _, forms := range [][]*exampleNode{n.OneOf, n.AnyOf, n.AllOf} {
		if len(forms) > 0 {
			return e.of(forms[0], depth+1)
		}
	}
	return json.RawMessage("null")
}

func (e *exampler) list(n *exampleNode, depth int) json.RawMessage {
	if n.MinItems <= 0 {
		return json.RawMessage("[]")
	}
	entry := e.of(n.Items, depth+1)
	if n.MinItems > maxExampleBytes/len(entry) {
		return json.RawMessage("[]")
	}
	entries := slices.Repeat([][]byte{entry}, n.MinItems)
	return slices.Concat([]byte("["), bytes.Join(entries, []byte(",")), []byte("]"))
}

func (n *exampleNode) given() json.RawMessage {
	switch {
	case len(n.Const) > 0:
		return n.Const
	case len(n.Examples) > 0:
		return n.Examples[0]
	case len(n.Default) > 0:
		return n.Default
	case len(n.Enum) > 0:
		return n.Enum[0]
	}
	return nil
}

// object holds what is required, in the order in which the schema requires it, and then the rest that the schema itself
// gives a value for.
func (e *exampler) object(n *exampleNode, depth int) json.RawMessage {
	names := slices.Clone(n.Required)
	var optional []string
	for name, p := range n.Properties {
		if p != nil && (len(p.Examples) > 0 || len(p.Default) > 0) && !slices.Contains(names, name) {
			optional = append(optional, name)
		}
	}
	slices.Sort(optional)
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range append(names, optional...) {
		if i > 0 {
			b.WriteByte(',')
		}
		quoted, _ := json.Marshal(name) // a string always marshals
		b.Write(quoted)
		b.WriteByte(':')
		b.Write(e.of(n.Properties[name], depth+1))
	}
	b.WriteByte('}')
	return b.Bytes()
}

var formatExamples = map[string]string{
	"date": "2026-01-31", "time": "09:30:00Z", "date-time": "2026-01-31T09:30:00Z", "duration": "PT1H",
	"email": "someone@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uri": "https://example.com/", "uri-reference": "/path", "uuid": "123e4567-e89b-12d3-a456-426614174000",
	"regex": ".*", "json-pointer": "/a",
}

func (n *exampleNode) text() json.RawMessage {
	text, ok := formatExamples[n.Format]
	if !ok {
		text = "text"
		if short := n.MinLength - len(text); short > 0 {
			text += strings.Repeat("x", min(short, 1_000))
		}
		if n.MaxLength > 0 {
			text = text[:min(len(text), n.MaxLength)]
		}
	}
	quoted, _ := json.Marshal(text) // a string always marshals
	return quoted
}

// number is the first of some plain candidates that the bounds allow.
func (n *exampleNode) number() string {
	one := big.NewRat(1, 1)
	candidates := []*big.Rat{one, new(big.Rat)}
	for _, edge := range []struct {
		value json.Number
		off   int64
	}{{n.Minimum, 0}, {n.ExclusiveMinimum, 1}, {n.MultipleOf, 0}, {n.Maximum, 0}, {n.ExclusiveMaximum, -1}} {
		if r, ok := rat(edge.value); ok {
			candidates = append(candidates, roundUp(r), r, new(big.Rat).Add(r, big.NewRat(edge.off, 1)))
		}
	}
	if step, ok := rat(n.MultipleOf); ok && step.Sign() > 0 {
		if low, ok := rat(n.Minimum); ok {
			times := roundUp(new(big.Rat).Quo(low, step))
			candidates = append(candidates, times.Mul(times, step))
		}
	}
	for _, c := range candidates {
		if n.allows(c) {
			return decimal(c)
		}
	}
	return "1"
}

func (n *exampleNode) allows(x *big.Rat) bool {
	if n.Type == "integer" && !x.IsInt() {
		return false
	}
	holds := func(limit json.Number, ok func(cmp int) bool) bool {
		r, given := rat(limit)
		return !given || ok(x.Cmp(r))
	}
	step, stepped := rat(n.MultipleOf)
	return holds(n.Minimum, func(c int) bool { return c >= 0 }) &&
		holds(n.Maximum, func(c int) bool { return c <= 0 }) &&
		holds(n.ExclusiveMinimum, func(c int) bool { return c > 0 }) &&
		holds(n.ExclusiveMaximum, func(c int) bool { return c < 0 }) &&
		(!stepped || step.Sign() == 0 || new(big.Rat).Quo(x, step).IsInt())
}

func rat(n json.Number) (*big.Rat, bool) { return new(big.Rat).SetString(n.String()) }

func roundUp(r *big.Rat) *big.Rat {
	q, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return new(big.Rat).SetInt(q)
}
