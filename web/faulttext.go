package web

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"reax/actors"
	"reax/views"
)

// faultText is what is wrong with a field, in the language of the viewer. What others have said in their own words
// stays as it is.
func faultText(ctx context.Context, f fieldError) string {
	args := f.args
	pairs := []any{"part", "", "hint", ""}
	if f.part != "" {
		pairs = []any{"part", views.T(ctx, "cron_field."+f.part), "hint", views.T(ctx, "cron_hint."+f.part)}
	}
	if f.Code == "types" && len(args) == 1 {
		args = []string{typeWords(ctx, args[0])}
	}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		arg := ""
		if i < len(args) {
			arg = args[i]
		}
		pairs = append(pairs, name, arg)
	}
	locale := views.ViewerOf(ctx).Locale
	text, ok := "", false
	if len(args) > 0 && args[0] == "1" { // of one thing a message may have a form of its own
		text, ok = locale.Lookup("fault."+f.Code, append(pairs, "n", 1)...)
	}
	if !ok {
		text, ok = locale.Lookup("fault."+f.Code, append(pairs, "n", 2)...)
	}
	if !ok || f.Code == "other" {
		text = f.Message
	}
	switch {
	case f.inside == "":
		return text
	case strings.Trim(f.inside, "0123456789") == "":
		if n, err := strconv.Atoi(f.inside); err == nil {
			return views.T(ctx, "fault.entry", "a", n+1, "b", text)
		}
	}
	return f.inside + ": " + text
}

// typeWords says the types that would do, as tasks names them.
func typeWords(ctx context.Context, names string) string {
	var words []string
	for name := range strings.SplitSeq(strings.ReplaceAll(names, "true or false", "bool"), " or ") {
		words = append(words, views.T(ctx, "fault_type."+strings.ReplaceAll(name, " ", "_")))
	}
	return strings.Join(words, " / ")
}

// within is the fault of something inside of a field: an entry of a list, or a name.
func (f fieldError) within(place string) fieldError {
	f.inside = cmp.Or(place, f.inside)
	return f
}

// tooLargeText says which limit was gone over.
func tooLargeText(ctx context.Context, e *actors.TooLargeError) string {
	text, ok := views.ViewerOf(ctx).Locale.Lookup("too_large."+strings.ReplaceAll(e.What, " ", "_"), "n", e.Limit)
	if !ok {
		return e.Error()
	}
	return text
}
