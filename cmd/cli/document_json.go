package cli

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// jsonWriter turns YAML into JSON without passing through Go values, which would lose key order and digits.
type jsonWriter struct{ bytes.Buffer }

func (w *jsonWriter) value(v value) {
	switch v.node.Kind {
	case yaml.MappingNode:
		w.mapping(v)
	case yaml.SequenceNode:
		w.WriteByte('[')
		for i, item := range v.list() {
			if i > 0 {
				w.WriteByte(',')
			}
			w.value(item)
		}
		w.WriteByte(']')
	default:
		w.scalar(v)
	}
}

func (w *jsonWriter) mapping(v value) {
	w.WriteByte('{')
	first := true
	v.entries(func(key string, item value) {
		if !first {
			w.WriteByte(',')
		}
		first = false
		w.text(key)
		w.WriteByte(':')
		w.value(item)
	})
	w.WriteByte('}')
}

func (w *jsonWriter) scalar(v value) {
	text := v.node.Value
	switch v.node.ShortTag() {
	case "!!null":
		w.WriteString("null")
	case "!!bool":
		w.WriteString(strconv.FormatBool(strings.EqualFold(text, "true")))
	case "!!int", "!!float":
		if !jsonNumber.MatchString(text) {
			v.fail("%s cannot be a number in JSON: write it in plain decimal digits, or in quotes if it is text", v.describe())
			text = "0"
		}
		w.WriteString(text)
	default:
		w.text(v.text())
	}
}

func (w *jsonWriter) text(text string) {
	quoted, _ := json.Marshal(text) // text never fails
	w.Write(quoted)
}
