package tasks

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// traceparent names a new span of the trace in the form of W3C Trace Context, or is empty for what is no trace id.
func traceparent(traceID string) string {
	id, err := hex.DecodeString(traceID)
	if err != nil || len(id) != 16 || strings.Trim(traceID, "0") == "" {
		return ""
	}
	var span [8]byte
	_, _ = rand.Read(span[:])
	return "00-" + strings.ToLower(traceID) + "-" + hex.EncodeToString(span[:]) + "-01"
}
