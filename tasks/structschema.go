package tasks

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	reflector "github.com/invopop/jsonschema"
)

// schemaOf makes the schema of a Go struct: whole, without references, and with no fields but its own.
func schemaOf(t reflect.Type) (schema *Schema, err error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("its parameters are %s: they must be a struct", t)
	}
	if loop := selfReference(t, nil); loop != "" {
		return nil, fmt.Errorf("its parameters hold %s, which holds itself: use json.RawMessage there", loop)
	}
	// The reflector panics at what JSON cannot hold.
	defer func() {
		if v := recover(); v != nil {
			schema, err = nil, fmt.Errorf("its parameters cannot be described: %v", v)
		}
	}()
	r := reflector.Reflector{Anonymous: true, ExpandedStruct: true, DoNotReference: true, RequiredFromJSONSchemaTags: true, Mapper: mapType}
	raw, err := json.Marshal(r.ReflectFromType(t))
	if err != nil {
		return nil, fmt.Errorf("its parameters cannot be described: %w", err)
	}
	schema, err = CompileSchema(raw)
	if err != nil {
		return nil, fmt.Errorf("its parameters %s: %w", t, err)
	}
	return schema, nil
}

var (
	timeType      = reflect.TypeFor[time.Time]()
	numberType    = reflect.TypeFor[json.Number]()
	ownSchema     = reflect.TypeFor[interface{ JSONSchema() *reflector.Schema }]()
	ownJSON       = reflect.TypeFor[json.Unmarshaler]()
	ownText       = reflect.TypeFor[encoding.TextUnmarshaler]()
	integerBounds = map[reflect.Kind][2]json.Number{
		reflect.Int8: signed(8), reflect.Int16: signed(16), reflect.Int32: signed(32), reflect.Int64: signed(64), reflect.Int: signed(strconv.IntSize),
		reflect.Uint8: unsigned(8), reflect.Uint16: unsigned(16), reflect.Uint32: unsigned(32), reflect.Uint64: unsigned(64), reflect.Uint: unsigned(strconv.IntSize),
	}
)

func signed(bits int) [2]json.Number {
	high := int64(math.MaxInt64) >> (64 - bits)
	return [2]json.Number{json.Number(strconv.FormatInt(-high-1, 10)), json.Number(strconv.FormatInt(high, 10))}
}

func unsigned(bits int) [2]json.Number {
	return [2]json.Number{"0", json.Number(strconv.FormatUint(uint64(math.MaxUint64)>>(64-bits), 10))}
}

// mapType describes the types that encoding/json reads otherwise than the reflector believes, and the integers, whose
// range the reflector leaves out. Nil leaves a type to the reflector.
func mapType(t reflect.Type) *reflector.Schema {
	read := reflect.PointerTo(t)
	switch {
	case t == timeType, t.Implements(ownSchema):
		return nil
	case t == numberType:
		return &reflector.Schema{Type: "number"}
	case read.Implements(ownJSON):
		return &reflector.Schema{}
	case read.Implements(ownText):
		return &reflector.Schema{Type: "string"}
	}
	if bounds, ok := integerBounds[t.Kind()]; ok {
		return &reflector.Schema{Type: "integer", Minimum: bounds[0], Maximum: bounds[1]}
	}
	return nil
}

// selfReference names the type by which t holds itself, or "".
func selfReference(t reflect.Type, above []reflect.Type) string {
	if slices.Contains(above, t) {
		return t.String()
	}
	if t.Name() != "" && mapType(t) != nil {
		return ""
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return selfReference(t.Elem(), above)
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() || f.Anonymous {
				if loop := selfReference(f.Type, above); loop != "" {
					return loop
				}
			}
		}
	}
	return ""
}

// goTypeFault says what a Go field of that type takes, for values that fit the schema and yet not the field: 1.0 and
// 1e3 are integers to JSON Schema, but not to encoding/json.
func goTypeFault(wrong *json.UnmarshalTypeError) *Fault {
	if wrong.Type == nil {
		return NewFault("handler")
	}
	if bounds, ok := integerBounds[wrong.Type.Kind()]; ok {
		return NewFault("integer_range", bounds[0], bounds[1])
	}
	switch wrong.Type.Kind() {
	case reflect.Float32, reflect.Float64:
		return NewFault("number_range", wrong.Type.Kind())
	}
	return NewFault("handler_takes", cleanText(wrong.Type.String(), maxMessageBytes))
}

// fieldPointer makes a JSON pointer of encoding/json's path, which has dots, leaves out the places in lists, and names
// embedded structs, of which JSON knows nothing.
func fieldPointer(path string, params json.RawMessage) string {
	var names []string
	for name := range strings.SplitSeq(path, ".") {
		var object map[string]json.RawMessage
		if json.Unmarshal(params, &object) == nil {
			inner, there := object[name]
			if !there {
				continue
			}
			params = inner
		}
		names = append(names, name)
	}
	return pointer(names)
}
