package tasks

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxMessageBytes bounds text of others inside our messages: a parameter's name, a library's complaint.
const maxMessageBytes = 200

const ellipsis = "…"

// cleanText makes hostile text storable on every database: valid UTF-8, no zero byte, at most limit bytes. What was cut
// off shows as an ellipsis within the limit; the cut is between letters. It never holds on to a longer original.
func cleanText(s string, limit int) string {
	long := len(s) > limit
	if long {
		s = strings.Clone(s[:letterStart(s, limit)])
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	if !long && len(s) <= limit {
		return s
	}
	if room := max(limit-len(ellipsis), 0); len(s) > room {
		s = s[:letterStart(s, room)]
	}
	return s + ellipsis[:min(limit, len(ellipsis))]
}

// letterStart is the start of the letter that s[at] belongs to.
func letterStart(s string, at int) int {
	for back := range utf8.UTFMax {
		if back > at || utf8.RuneStart(s[at-back]) {
			return max(at-back, 0)
		}
	}
	return at // no letter is that long: these are stray bytes
}

// ErrorText is err.Error(), also when that panics, as a nil pointer inside an error often does. The text is valid UTF-8
// without zero bytes; it is not bounded.
func ErrorText(err error) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprintf("%T: its text cannot be shown: Error() panicked", err)
		}
	}()
	if err == nil {
		return ""
	}
	text = err.Error()
	return cleanText(text, max(len(text), 1)*len("\uFFFD"))
}
