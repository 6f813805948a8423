package actors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"reax/tasks"
)

// occurrence is what the templates in the parameters of a schedule may use.
type occurrence struct {
	ScheduledFor moment // in the schedule's zone
	PreviousRun  moment // the occurrence before it that a task was made for; the year 1 when there was none
	Name         string // of the schedule
}

// moment is a time.Time as far as templates may use it: nothing that they can do with it takes long or grows large.
type moment struct{ t time.Time }

const maxLayout = 256 // bytes of a layout; what one gives may be the next one's layout

// Format is time.Time's.
func (m moment) Format(layout string) (string, error) {
	if len(layout) > maxLayout {
		return "", fmt.Errorf("a layout has at most %d bytes", maxLayout)
	}
	return m.t.Format(layout), nil
}

// String is the moment in RFC 3339.
func (m moment) String() string { return m.t.Format(time.RFC3339) }

// AddDate is time.Time's: so many years, months and days later, or earlier when they are negative.
func (m moment) AddDate(years, months, days int) moment {
	return moment{m.t.AddDate(years, months, days)}
}

// Add moves by a duration such as "-90m".
func (m moment) Add(d string) (moment, error) {
	by, err := time.ParseDuration(d)
	if err != nil {
		return m, fmt.Errorf("%q is not a duration such as -90m", d)
	}
	return moment{m.t.Add(by)}, nil
}

// In is the moment in another zone.
func (m moment) In(zone string) (moment, error) {
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return m, fmt.Errorf("there is no time zone %q", zone)
	}
	return moment{m.t.In(location)}, nil
}

// UTC and the ones after it are time.Time's.
func (m moment) UTC() moment           { return moment{m.t.UTC()} }
func (m moment) IsZero() bool          { return m.t.IsZero() }
func (m moment) Unix() int64           { return m.t.Unix() }
func (m moment) UnixMilli() int64      { return m.t.UnixMilli() }
func (m moment) Year() int             { return m.t.Year() }
func (m moment) Month() time.Month     { return m.t.Month() }
func (m moment) Day() int              { return m.t.Day() }
func (m moment) Hour() int             { return m.t.Hour() }
func (m moment) Minute() int           { return m.t.Minute() }
func (m moment) Second() int           { return m.t.Second() }
func (m moment) Weekday() time.Weekday { return m.t.Weekday() }
func (m moment) YearDay() int          { return m.t.YearDay() }

// renderParams fills in the templates among the strings of a schedule's parameters; keys are never templates. All else
// stays byte for byte. The error is a *tasks.InvalidError with a location for each template that fails.
func renderParams(params string, data occurrence) (json.RawMessage, error) {
	if !strings.Contains(params, "{{") && !strings.Contains(params, `\u007`) { // {{ with one of them escaped
		return json.RawMessage(params), nil
	}
	var bad []tasks.FieldError
	rendered, err := rewriteStrings([]byte(params), func(location, text string) string {
		if !strings.Contains(text, "{{") {
			return text
		}
		out, err := renderText(text, data)
		if err != nil {
			bad = append(bad, tasks.NewFault("other", err).At("/params"+location))
		}
		return out
	})
	if err != nil {
		return nil, tasks.Invalid("/params", "json")
	}
	if len(bad) > 0 {
		return nil, &tasks.InvalidError{Fields: bad}
	}
	return rendered, nil
}

// rewriteStrings replaces the strings of a JSON text that are values. The location is their JSON pointer.
func rewriteStrings(raw []byte, replace func(location, text string) string) ([]byte, error) {
	type level struct {
		object, named bool // named: the next token is the value of key
		key           string
		index         int
	}
	var levels []level
	location := func() string {
		var p strings.Builder
		for _, l := range levels {
			p.WriteByte('/')
			if l.object {
				p.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(l.key))
			} else {
				p.WriteString(strconv.Itoa(l.index))
			}
		}
		return p.String()
	}
	var out bytes.Buffer
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	copied, end := 0, 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			out.Write(raw[copied:])
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading parameters: %w", err)
		}
		start := end
		end = int(decoder.InputOffset())
		last := len(levels) - 1
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				levels = append(levels, level{object: v == '{'})
				continue
			}
			levels = levels[:last]
			last--
		case string:
			if last >= 0 && levels[last].object && !levels[last].named {
				levels[last].key, levels[last].named = v, true
				continue
			}
			if text := replace(location(), v); text != v {
				start += bytes.IndexByte(raw[start:end], '"') // behind white space, a comma or a colon
				out.Write(raw[copied:start])
				out.WriteString(quote(text))
				copied = end
			}
		}
		if last >= 0 {
			levels[last].named = false
			levels[last].index++
		}
	}
}

// quote is s as a JSON string.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// functions are what templates may call. printf and its kin can ask for any number of bytes by a width.
var functions = []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge"}

func renderText(text string, data occurrence) (string, error) {
	if len(text) > MaxTemplateBytes {
		return "", fmt.Errorf("is a template of %d bytes: the limit is %d", len(text), MaxTemplateBytes)
	}
	t, err := template.New("t").Parse(text)
	if err != nil {
		return "", templateFault(err)
	}
	if len(t.Templates()) > 1 {
		return "", errors.New("a template may not define others")
	}
	if t.Tree == nil || t.Root == nil {
		return "", nil
	}
	if err := checkNode(t.Tree, t.Root); err != nil {
		return "", err
	}
	out := &limitedText{}
	if err := t.Execute(out, data); err != nil {
		return "", templateFault(err)
	}
	return strings.ToValidUTF8(out.String(), "\uFFFD"), nil
}

// checkNode refuses what could run for long.
func checkNode(tree *parse.Tree, node parse.Node) error {
	refuse := func(what string) error {
		where, _ := tree.ErrorContext(node)
		return templateFault(fmt.Errorf("template: %s: %s is not available here", where, what))
	}
	var inside []parse.Node
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			inside = n.Nodes
		}
	case *parse.ActionNode:
		inside = []parse.Node{n.Pipe}
	case *parse.IfNode:
		inside = []parse.Node{n.Pipe, n.List, n.ElseList}
	case *parse.WithNode:
		inside = []parse.Node{n.Pipe, n.List, n.ElseList}
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			inside = append(inside, c.Args...)
		}
	case *parse.ChainNode:
		inside = []parse.Node{n.Node}
	case *parse.IdentifierNode:
		if !slices.Contains(functions, n.Ident) {
			return refuse(n.Ident)
		}
	case *parse.TextNode, *parse.CommentNode, *parse.FieldNode, *parse.VariableNode, *parse.DotNode, *parse.NilNode, *parse.BoolNode,
		*parse.NumberNode, *parse.StringNode:
	case *parse.RangeNode:
		return refuse("range")
	default:
		return refuse(node.String())
	}
	for _, child := range inside {
		if err := checkNode(tree, child); err != nil {
			return err
		}
	}
	return nil
}

// limitedText takes no more than MaxRenderedBytes.
type limitedText struct{ strings.Builder }

func (l *limitedText) Write(p []byte) (int, error) {
	if l.Len()+len(p) > MaxRenderedBytes {
		return 0, fmt.Errorf("gives more than %d bytes", MaxRenderedBytes)
	}
	return l.Builder.Write(p)
}

var templatePlace = regexp.MustCompile(`^template: t:(\d+)(?::(\d+))?: (?:executing "t" at (<[^>]*>): )?`)

var templateCall = regexp.MustCompile(`^error calling \w+: `)

// templateFault says where in a template the fault is, without the library's names for our own things.
func templateFault(err error) error {
	text := err.Error()
	place := templatePlace.FindStringSubmatch(text)
	if place == nil {
		return errors.New("is no template: " + text)
	}
	text = strings.NewReplacer("actors.occurrence", "the occurrence", "actors.moment", "a time").Replace(text[len(place[0]):])
	text = templateCall.ReplaceAllString(text, "")
	where := "line " + place[1]
	if place[2] != "" {
		where += ", column " + place[2]
	}
	if place[3] != "" {
		where += ", at " + place[3]
	}
	return fmt.Errorf("the template is wrong at %s: %s", where, text)
}
