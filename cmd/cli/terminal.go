package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// cleanLine makes text safe for one line of a terminal. Errors, logs and names come from anywhere: a control character
// in them could move the cursor, change colours or the window's title, and hide or forge what the operator reads.
func cleanLine(text string) string { return clean(text, false) }

// cleanLines is cleanLine for text of several lines.
func cleanLines(text string) string { return clean(strings.ReplaceAll(text, "\r\n", "\n"), true) }

func clean(text string, lines bool) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\n' && lines, r == '\t' && lines:
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r < 0x100 && unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case unicode.Is(unicode.Bidi_Control, r), unicode.In(r, unicode.Zl, unicode.Zp), r == '\uFEFF':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// columns counts the terminal cells that text takes: wide characters take two, combining marks none.
func columns(text string) int {
	n := 0
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// cut shortens text to at most limit cells.
func cut(text string, limit int) string {
	if columns(text) <= limit {
		return text
	}
	var b strings.Builder
	used := 0
	for _, r := range text {
		w := columns(string(r))
		if used+w > limit-1 {
			break
		}
		b.WriteRune(r)
		used += w
	}
	return b.String() + "…"
}

// table writes rows in aligned columns, each cell made safe for the terminal. The last column is not padded.
func table(w io.Writer, header []string, rows [][]string) error {
	cells := append([][]string{header}, rows...)
	widths := make([]int, len(header))
	for _, row := range cells {
		for i := range row {
			row[i] = cleanLine(row[i])
			widths[i] = max(widths[i], columns(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range cells {
		line := ""
		for i, cell := range row {
			line += cell
			if i < len(row)-1 {
				line += strings.Repeat(" ", widths[i]-columns(cell)+2)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
