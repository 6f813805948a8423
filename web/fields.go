package web

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"reax/models"
	"reax/tasks"
)

// moment is an instant in an answer: RFC 3339 in UTC with microseconds, or null.
type moment models.Instant

// MarshalJSON writes the instant.
func (m moment) MarshalJSON() ([]byte, error) {
	if m == 0 {
		return []byte("null"), nil
	}
	return []byte(models.Instant(m).Time().Format(`"2006-01-02T15:04:05.000000Z"`)), nil
}

// Schema tells the OpenAPI document what MarshalJSON writes.
func (moment) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time", Nullable: true}
}

// momentInput is an instant in a body. Reading it never fails: err says what was wrong, so that the other fields of the
// body are read and checked as well.
type momentInput struct {
	time time.Time
	err  error
}

// UnmarshalJSON reads the instant, or keeps what is wrong with it.
func (m *momentInput) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		m.err = errMoment
		return nil
	}
	m.time, m.err = parseMoment(text)
	return nil
}

// Schema tells the OpenAPI document what UnmarshalJSON reads.
func (*momentInput) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time", Nullable: true}
}

var errMoment error = tasks.NewFault("moment")

func parseMoment(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, errMoment
	}
	return t, nil
}

// durationText is a duration in an answer, such as "1h30m"; none is nil, which becomes null.
func durationText(d time.Duration) *string {
	if d == 0 {
		return nil
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return &text
}

// durationInput is a duration in a body: "90s", "1h30m", or a number of seconds. As with momentInput, reading it never
// fails.
type durationInput struct {
	duration time.Duration
	err      error
}

// UnmarshalJSON reads the duration, or keeps what is wrong with it.
func (d *durationInput) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			d.err = errDuration
			return nil
		}
		if _, err := strconv.ParseFloat(text, 64); err == nil && text != "0" {
			d.err = errDuration // "90" says nothing of its unit
			return nil
		}
	}
	d.duration, d.err = parseDuration(text)
	return nil
}

// Schema tells the OpenAPI document what UnmarshalJSON reads.
func (*durationInput) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		AnyOf:    []*huma.Schema{{Type: huma.TypeString}, {Type: huma.TypeNumber}, {Type: "null"}},
		Examples: []any{"90s", "1h30m", 90},
	}
}

var errDuration error = tasks.NewFault("duration")

// maxDuration is far beyond any sensible duration and far below an overflow.
const maxDuration = 100 * 365 * 24 * time.Hour

// parseDuration reads a duration with its units, or a number of seconds. It is never negative and at most maxDuration.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(seconds) || strings.ContainsAny(text, "xX_iI") {
			return 0, errDuration
		}
		if seconds > maxDuration.Seconds() {
			return 0, tasks.NewFault("duration_long")
		}
		if seconds < 0 {
			return 0, tasks.NewFault("negative")
		}
		d = time.Duration(math.Round(seconds*1e6)) * time.Microsecond
	}
	switch {
	case d < 0:
		return 0, tasks.NewFault("negative")
	case d > maxDuration:
		return 0, tasks.NewFault("duration_long")
	}
	return d, nil
}

// within checks a duration that was read against its limit.
func (d *durationInput) within(location string, limit time.Duration) []fieldError {
	switch {
	case d == nil:
		return nil
	case d.err != nil:
		return []fieldError{wrongBy(location, d.err)}
	case d.duration > limit:
		return []fieldError{wrong(location, "at_most", *durationText(limit))}
	}
	return nil
}

// wholeNumber is an integer in a body. It reads what the schema calls an integer, 5.0 and 5e0 as well; the schema keeps
// it within bounds.
type wholeNumber int

// UnmarshalJSON reads the number. It never fails, for the schema has the word on what is an integer.
func (n *wholeNumber) UnmarshalJSON(raw []byte) error {
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil && math.Abs(f) <= 1<<53 {
		*n = wholeNumber(f)
	}
	return nil
}

// taskID is the id of a task in a body. One that no task can have is read as 0.
type taskID int64

// UnmarshalJSON reads the id. It never fails, so that each wrong one can be named by its place.
func (id *taskID) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		n = 0
	}
	*id = taskID(n)
	return nil
}

// jsonObject is a JSON object, byte for byte as it was sent; null counts as absent.
type jsonObject json.RawMessage

// UnmarshalJSON keeps the bytes.
func (o *jsonObject) UnmarshalJSON(raw []byte) error {
	*o = nil
	if !bytes.Equal(raw, []byte("null")) {
		*o = bytes.Clone(raw)
	}
	return nil
}

// Schema tells the OpenAPI document that any object will do.
func (jsonObject) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Nullable: true, AdditionalProperties: true}
}

// rawJSON gives stored JSON as it is, so that big numbers keep their digits. Text that is no JSON, as a result is that
// was too long to be kept whole, becomes a JSON string; empty text becomes null.
func rawJSON(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	return quoted
}

// A cursor is the id of the last task of a page. It is encoded so that nobody takes it for a number to count with.
func encodeCursor(id int64) string {
	return base64.RawURLEncoding.EncodeToString(strconv.AppendInt(nil, id, 10))
}

func decodeCursor(text string) (int64, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		var id int64
		if id, err = strconv.ParseInt(string(raw), 10, 64); err == nil && id > 0 && encodeCursor(id) == text {
			return id, nil
		}
	}
	return 0, errCursor
}

var errCursor error = tasks.NewFault("cursor")
