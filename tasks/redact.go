package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
)

// minSecret is the length in bytes from which on a secret value is taken out of other texts. A shorter one, such as 42,
// would deface what has nothing to do with it.
const minSecret = 6

// discreet wraps a handler so that the secrets of its parameters go no further: what the run logs, its progress note,
// its error, its result and a panic have Hidden in their place.
func (s *Schema) discreet(handler Handler) Handler {
	if !s.Masks() {
		return handler
	}
	return func(ctx context.Context, params json.RawMessage) (result json.RawMessage, err error) {
		r := s.secrets.redactor(params)
		if r == nil {
			return handler(ctx, params)
		}
		RunOf(ctx).secrets.Store(r)
		defer func() {
			// The stack is still that of the first panic, so that nobody misses where it came from.
			if v := recover(); v != nil {
				panic(discreetPanic(r, v))
			}
		}()
		result, err = handler(ctx, params)
		if err != nil {
			return nil, discreetError(r, err)
		}
		return discreetResult(r, result), nil
	}
}

// discreetResult is a result without secrets, byte for byte when it has none.
func discreetResult(r *strings.Replacer, result json.RawMessage) json.RawMessage {
	value, ok := readValue(string(result))
	if !ok {
		return result
	}
	found := false
	var clean func(value any) any
	clean = func(value any) any {
		switch value := value.(type) {
		case string:
			text := r.Replace(value)
			found = found || text != value
			return text
		case json.Number:
			if r.Replace(value.String()) != value.String() {
				found = true
				return Hidden
			}
		case []any:
			for i, v := range value {
				value[i] = clean(v)
			}
		case map[string]any:
			for name, v := range value {
				value[name] = clean(v)
			}
		}
		return value
	}
	if value = clean(value); !found {
		return result
	}
	return json.RawMessage(writeValue(value))
}

// redactor replaces the secret values of params, however they may be written; nil when there are none.
func (s *secrets) redactor(params json.RawMessage) *strings.Replacer {
	value, ok := readValue(string(params))
	if !ok {
		return nil
	}
	var words []string
	note := func(secret any) any { words = wordsIn(secret, words); return secret }
	if s.whole {
		note(value)
	} else {
		s.visit(value, s.hasTop, note)
	}
	words = slices.DeleteFunc(words, func(word string) bool { return len(word) < minSecret })
	if len(words) == 0 {
		return nil
	}
	var pairs []string
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for _, word := range slices.Compact(words) {
		for _, form := range spellings(word) {
			pairs = append(pairs, form, Hidden)
		}
	}
	return strings.NewReplacer(pairs...)
}

// wordsIn adds the plain values in value.
func wordsIn(value any, words []string) []string {
	switch value := value.(type) {
	case string:
		return append(words, value)
	case json.Number:
		return append(words, value.String())
	case []any:
		for _, v := range value {
			words = wordsIn(v, words)
		}
	case map[string]any:
		for _, v := range value {
			words = wordsIn(v, words)
		}
	}
	return words
}

// spellings are the ways in which programs write a text: as it is, within JSON or Go source, and in an address. The longer
// ones come first.
func spellings(word string) []string {
	quoted := strings.TrimSuffix(strings.TrimPrefix(writeValue(word), `"`), `"`)
	escaped, _ := json.Marshal(word) // text never fails
	forms := []string{word, quoted, string(escaped[1 : len(escaped)-1]), strings.Trim(fmt.Sprintf("%q", word), `"`), url.QueryEscape(word), url.PathEscape(word)}
	slices.SortStableFunc(forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return slices.Compact(forms)
}

// redactedError says what its error says, without secrets.
type redactedError struct {
	error
	text string
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.error }

// discreetError is err, with its kind, as it may be kept.
func discreetError(r *strings.Replacer, err error) error {
	text := ErrorText(err)
	if clean := r.Replace(text); clean != text {
		if bad, ok := errors.AsType[*InvalidError](err); ok {
			return &InvalidError{Fields: discreetFields(r, bad.Fields)}
		}
		return &redactedError{err, clean}
	}
	return err
}

func discreetFields(r *strings.Replacer, fields []FieldError) []FieldError {
	fields = slices.Clone(fields)
	for i := range fields {
		fields[i].Location, fields[i].Message, fields[i].Args = r.Replace(fields[i].Location), r.Replace(fields[i].Message), nil
	}
	return fields
}

func discreetPanic(r *strings.Replacer, v any) any {
	var text string
	if err, ok := v.(error); ok {
		text = ErrorText(err)
	} else {
		text = fmt.Sprint(v)
	}
	if clean := r.Replace(text); clean != text {
		return clean
	}
	return v
}

// discreet is a text without the secrets of the run's parameters.
func (r *Run) discreet(text string) string {
	if secrets := r.secrets.Load(); secrets != nil {
		return secrets.Replace(text)
	}
	return text
}

// discreetHandler takes the secrets of a run out of what it writes to the program's own log, and bounds it.
type discreetHandler struct {
	slog.Handler
	run *Run
}

func (h discreetHandler) Handle(ctx context.Context, rec slog.Record) error {
	rec, wanted := h.run.forProgram(rec)
	if !wanted {
		return nil
	}
	if h.run.secrets.Load() == nil {
		return h.Handler.Handle(ctx, rec)
	}
	clean := slog.NewRecord(rec.Time, rec.Level, h.run.discreet(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

func (h discreetHandler) attr(a slog.Attr) slog.Attr {
	switch a.Value = a.Value.Resolve(); a.Value.Kind() {
	case slog.KindGroup:
		var inner []slog.Attr
		for _, member := range a.Value.Group() {
			inner = append(inner, h.attr(member))
		}
		a.Value = slog.GroupValue(inner...)
	case slog.KindString, slog.KindAny, slog.KindInt64, slog.KindUint64, slog.KindFloat64:
		if text := a.Value.String(); h.run.discreet(text) != text {
			a.Value = slog.StringValue(h.run.discreet(text))
		}
	}
	return a
}

func (h discreetHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return discreetHandler{h.Handler.WithAttrs(clean), h.run}
}

func (h discreetHandler) WithGroup(name string) slog.Handler {
	return discreetHandler{h.Handler.WithGroup(name), h.run}
}
