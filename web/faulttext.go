package web

import (
	"context"
	"regexp"
	"strings"

	"reax/views"
)

// faultWords are what the checks of parameters say, each with its message. The checks speak English, since a program
// reads them through the API; a page says the same in the language of who reads it.
var faultWords = []struct {
	says *regexp.Regexp
	key  string
}{
	{regexp.MustCompile(`^is required$`), "fault.required"},
	{regexp.MustCompile(`^must be (?:an )?integer$`), "fault.integer"},
	{regexp.MustCompile(`^must be an integer from (\S+) to (\S+), written`), "fault.integer_range"},
	{regexp.MustCompile(`^must be a number$`), "fault.number"},
	{regexp.MustCompile(`^must be text$`), "fault.text"},
	{regexp.MustCompile(`^must be true or false$`), "fault.bool"},
	{regexp.MustCompile(`^must be a list$`), "fault.list"},
	{regexp.MustCompile(`^must be an object$`), "fault.object"},
	{regexp.MustCompile(`^must be one of (.+)$`), "fault.one_of"},
	{regexp.MustCompile(`^must be between (\S+) and (\S+)$`), "fault.between"},
	{regexp.MustCompile(`^must be at least (\S+)$`), "fault.at_least"},
	{regexp.MustCompile(`^must be at most (\S+)$`), "fault.at_most"},
	{regexp.MustCompile(`^must be more than (\S+)$`), "fault.more_than"},
	{regexp.MustCompile(`^must be less than (\S+)$`), "fault.less_than"},
	{regexp.MustCompile(`^must be a multiple of (\S+)$`), "fault.multiple"},
	{regexp.MustCompile(`^must not be (?:empty|negative)$`), "fault.empty"},
	{regexp.MustCompile(`^must have at least (\d+) characters?$`), "fault.min_length"},
	{regexp.MustCompile(`^must have at most (\d+) characters?$`), "fault.max_length"},
	{regexp.MustCompile(`^must have at least (\d+) entr(?:y|ies)$`), "fault.min_items"},
	{regexp.MustCompile(`^must have at most (\d+) entr(?:y|ies)$`), "fault.max_items"},
	{regexp.MustCompile(`^(?:must have at most|is longer than) (\d+) bytes$`), "fault.bytes"},
	{regexp.MustCompile(`^must match the pattern (.+)$`), "fault.pattern"},
	{regexp.MustCompile(`^must be a date such as (\S+)$`), "fault.date"},
	{regexp.MustCompile(`^must be a date and time with its offset such as (\S+)$`), "fault.moment"},
	{regexp.MustCompile(`^must be a duration such as (.+)$`), "fault.duration"},
	{regexp.MustCompile(`^must be an e-mail address$`), "fault.email"},
	{regexp.MustCompile(`^must be a web address`), "fault.uri"},
	{regexp.MustCompile(`^is too long$`), "fault.long"},
	{regexp.MustCompile(`^is more than ten years away$`), "fault.far"},
	{regexp.MustCompile(`^must be 32 lower-case hexadecimal digits`), "fault.trace"},
	{regexp.MustCompile(`^must be valid UTF-8`), "fault.control"},
	{regexp.MustCompile(`^is not a known parameter$`), "fault.unknown"},
	{regexp.MustCompile(`^is not valid JSON: (.+)$`), "fault.json"},
	{regexp.MustCompile(`^is hidden here`), "fault.hidden"},
	{regexp.MustCompile(`^has a name that is a field of its own$`), "fault.own_field"},
	{regexp.MustCompile(`^must be at most 20 entries$|^must have at most 20 entries$|^has more than 20 entries$`), "fault.tags"},
	{regexp.MustCompile(`^entry (\d+): (.+)$`), "fault.entry"},
}

// faultText is what is wrong with a field, in the language of the viewer. What has no message stays as it is.
func faultText(ctx context.Context, fault string) string {
	for _, w := range faultWords {
		m := w.says.FindStringSubmatch(fault)
		if m == nil {
			continue
		}
		var pairs []any
		for i, name := range []string{"a", "b"} {
			value := ""
			if i+1 < len(m) {
				value = m[i+1]
			}
			if w.key == "fault.entry" && name == "b" {
				value = faultText(ctx, value)
			}
			pairs = append(pairs, name, value)
		}
		return views.T(ctx, w.key, pairs...)
	}
	if name, what, ok := strings.Cut(fault, ": "); ok { // a place inside of the field
		return name + ": " + faultText(ctx, what)
	}
	return fault
}
