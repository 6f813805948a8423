package web

import (
	"bytes"
	"encoding/json"
)

// indented is JSON for people to read; text that is none stays as it is.
func indented(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}
