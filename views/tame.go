package views

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Letters without a width that words of some languages and emoji need, and the hyphen that shows only at the end of a line.
const zeroWidthNonJoiner, zeroWidthJoiner, softHyphen = '\u200c', '\u200d', '\u00ad'

// shownAttributes are those of a page that people see or copy.
var shownAttributes = []string{" title", " aria-label", " placeholder", " data-copy"}

// isHidden reports whether r shows nothing by itself, or changes how its neighbours show: the control characters of
// terminals, marks that turn the direction of text, and letters without a width.
func isHidden(r rune) bool {
	switch {
	case r < utf8.RuneSelf: // nearly all there is
		return r < ' ' && r != '\n' && r != '\t' || r == '\x7f'
	case r == zeroWidthNonJoiner, r == zeroWidthJoiner, r == softHyphen:
		return false
	case r == '\u2028', r == '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// shown is what stands for a letter that isHidden: its number as JSON writes it, so that JSON means the same afterwards.
// Unicode has symbols for some, but not every font has them.
func shown(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Visible is text with everything to be seen that is in it: a control character or a mark that turns the direction of
// text is shown by its number. Lines and tabs stay.
func Visible(text string) string {
	if !strings.ContainsFunc(text, isHidden) {
		return text
	}
	var b strings.Builder
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for _, r := range text {
		if isHidden(r) {
			b.WriteString(shown(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Tame makes Visible what a rendered page shows, wherever it came from: its texts, and the attributes that people see or
// copy. What a form would send stays as it is: the names and values of fields, and areas of text that can be written in.
func Tame(page []byte) []byte {
	if !bytes.ContainsFunc(page, isHidden) {
		return page
	}
	var out bytes.Buffer
	out.Grow(len(page) + len(page)/16)
	for len(page) > 0 {
		i := bytes.IndexByte(page, '<')
		if i < 0 {
			i = len(page)
		}
		out.WriteString(Visible(string(page[:i])))
		tag := tagAt(page[i:])
		page = page[i+len(tag):]
		tameTag(&out, tag)
		if bytes.HasPrefix(tag, []byte("<textarea")) && !bytes.Contains(tag, []byte(" readonly")) {
			end := max(bytes.Index(page, []byte("</textarea")), 0)
			out.Write(page[:end])
			page = page[end:]
		}
	}
	return out.Bytes()
}

// tagAt is the tag at the start of html; a bracket within quotes does not end it.
func tagAt(html []byte) []byte {
	quoted := false
	for i, c := range html {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '>' && !quoted:
			return html[:i+1]
		}
	}
	return html
}

// tameTag writes a tag with its shownAttributes made Visible.
func tameTag(out *bytes.Buffer, tag []byte) {
	const opens = `="`
	for {
		name, rest, ok := bytes.Cut(tag, []byte(opens))
		out.Write(name)
		if !ok {
			return
		}
		out.WriteString(opens)
		end := max(bytes.IndexByte(rest, '"'), 0)
		isShown := slices.ContainsFunc(shownAttributes, func(shown string) bool { return bytes.HasSuffix(name, []byte(shown)) })
		if isShown {
			out.WriteString(Visible(string(rest[:end])))
		} else {
			out.Write(rest[:end])
		}
		tag = rest[end:]
	}
}
