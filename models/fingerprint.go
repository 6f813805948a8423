package models

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// normalisedLimit is how many bytes of a message count for its fingerprint: the rest is output and stacks.
const normalisedLimit = 2000

// placeholders are applied in this order: what a later pattern would tear apart comes first. A pattern is only tried on a
// message that has one of its signs, since most have few of them and the journal does this for every error.
var placeholders = []struct {
	signs   string // each match has one of these
	pattern *regexp.Regexp
	mark    string
}{
	{"\"`“«「", regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|` + "`[^`\n]*`" + `|“[^”\n]*”|«[^»\n]*»|「[^」\n]*」`), "<text>"},
	// An apostrophe within a word ("can't") is no quotation mark.
	{"'", regexp.MustCompile(`(^|[\s(\[{=:,])'[^'\n]*'`), "${1}<text>"},
	{"-", regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<uuid>"},
	{".", regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b`), "<ip>"},
	{"[", regexp.MustCompile(`(?i)\[[0-9a-f:.]*:[0-9a-f:.]*(?:%\w+)?\](?::\d+)?`), "<ip>"},
	{":", regexp.MustCompile(`(?i)\b(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\b|\b(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}\b|::1\b`), "<ip>"},
	{"xX", regexp.MustCompile(`(?i)\b0x[0-9a-f]+\b`), "<hex>"},
	{digits, regexp.MustCompile(`(?i)\b[0-9a-f]*(?:[0-9][a-f]|[a-f][0-9])[0-9a-f]*\b`), "<hex>"},
	{digits, regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)*`), "<n>"},
	{"\t\n\f\r", regexp.MustCompile(`[\t\n\f\r]`), " "},
	{" ", regexp.MustCompile(` {2,}`), " "},
}

const digits = "0123456789"

// NormaliseMessage puts placeholders in the place of what differs between two errors of one cause: numbers, addresses,
// identifiers, quoted values.
func NormaliseMessage(message string) string {
	message, _ = cleanHead(message, normalisedLimit)
	for _, p := range placeholders {
		if strings.ContainsAny(message, p.signs) {
			message = p.pattern.ReplaceAllString(message, p.mark)
		}
	}
	return strings.TrimSpace(message)
}

// Fingerprint gives 16 hex digits that are the same for errors of one task type and kind whose messages differ only in
// what NormaliseMessage takes out.
func Fingerprint(typ, kind, message string) string {
	return fingerprintOf(typ, kind, NormaliseMessage(message))
}

func fingerprintOf(typ, kind, normalised string) string {
	sum := sha256.Sum256([]byte(typ + "\x00" + kind + "\x00" + normalised))
	return hex.EncodeToString(sum[:8])
}
