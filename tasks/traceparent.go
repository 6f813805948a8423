package tasks

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// ParseTraceparent reads the header of W3C Trace Context. Its ids are lower-case hexadecimal; ok is false for what is no
// such header, which the standard says to treat as if it were not there.
func ParseTraceparent(header string) (traceID, spanID string, ok bool) {
	version, rest, _ := strings.Cut(header, "-")
	parts := strings.Split(rest, "-")
	if !isHex(version, 2) || version == "ff" || len(parts) < 3 || version == "00" && len(parts) != 3 {
		return "", "", false
	}
	if !isID(parts[0], 32) || !isID(parts[1], 16) || !isHex(parts[2], 2) {
		return "", "", false
	}
	return parts[0], parts[1], true
}

func isHex(s string, digits int) bool {
	return len(s) == digits && strings.Trim(s, "0123456789abcdef") == ""
}

// isID reports whether s is that many digits and not all of them zero, which stands for no id.
func isID(s string, digits int) bool { return isHex(s, digits) && strings.Trim(s, "0") != "" }

// traceparent names the span of the run to who is called: the one that is recorded, or a new one of the task's trace.
func (r *Run) traceparent() string {
	if r.Traceparent != "" {
		return r.Traceparent
	}
	return traceparent(r.TraceID)
}

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
