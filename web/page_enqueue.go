package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/views"
)

// shownTypes is how many types the choice lists.
const shownTypes = 60

// enqueueTypesPage asks for the type of a new task.
func (s *Server) enqueueTypesPage(c echo.Context) error {
	ctx := c.Request().Context()
	query := strings.TrimSpace(clip(c.QueryParam("q")))
	if from := c.QueryParam("from"); from != "" {
		if t, err := s.copied(ctx, from); err == nil {
			return seeOther(c, string(views.URL(ctx, "/enqueue/"+views.Segment(t.Type), "from", from)))
		}
	}
	page := views.EnqueueTypes{Query: query}
	for _, d := range s.runtime.Registry().All() {
		if !d.Internal && contains(query, d.Name, d.Description) {
			page.Types = append(page.Types, s.typeChoice(ctx, d.Name))
		}
	}
	page.None = !slices.ContainsFunc(s.runtime.Registry().All(), func(d *tasks.Definition) bool { return !d.Internal })
	// A type with tasks that this process has no handler for is shown, so that nobody looks for it in vain.
	counts, err := s.countsByType(ctx)
	if err == nil {
		var gone []string
		for name := range counts {
			if _, known := s.runtime.Registry().Lookup(name); !known && contains(query, name) {
				gone = append(gone, name)
			}
		}
		slices.Sort(gone)
		for _, name := range gone {
			page.Types = append(page.Types, views.TypeChoice{Name: name, Description: views.T(ctx, "enqueue.no_handler")})
		}
	}
	if page.More = len(page.Types) - shownTypes; page.More > 0 {
		page.Types = page.Types[:shownTypes]
	}
	return s.render(c, http.StatusOK, views.EnqueueTypesPage(page))
}

// contains looks for a text in others, whatever the case of the letters.
func contains(query string, texts ...string) bool {
	query = strings.ToLower(query)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), query) })
}

// typeChoice is a registered type as the choice shows it.
func (s *Server) typeChoice(ctx context.Context, name string) views.TypeChoice {
	d, _ := s.runtime.Registry().Lookup(name)
	pool, _ := s.runtime.Pool(name)
	return views.TypeChoice{
		Name: name, Description: clip(d.Description), Kind: d.Kind, URL: views.URL(ctx, "/enqueue/"+views.Segment(name)),
		Busy: pool.Busy, Size: pool.Concurrency, Ready: pool.Ready, Paused: pool.Paused, PauseReason: pool.PauseReason,
	}
}

// copied reads the task that a form is to be a copy of.
func (s *Server) copied(ctx context.Context, id string) (models.Task, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 {
		return models.Task{}, models.ErrNotFound
	}
	return s.ledger.Task(ctx, n)
}

// enqueueable is a type whose tasks people make.
func (s *Server) enqueueable(name string) (*tasks.Definition, error) {
	d, ok := s.runtime.Registry().Lookup(name)
	if !ok {
		return nil, unknownType(name)
	}
	if d.Internal {
		return nil, invalid([]fieldError{wrong("", "own_type", d.Name)})
	}
	return d, nil
}

// enqueueFormPage is the form of a type: empty, with its example, or with what another task had.
func (s *Server) enqueueFormPage(c echo.Context) error {
	ctx := c.Request().Context()
	d, err := s.enqueueable(c.Param("type"))
	if err != nil {
		return err
	}
	var values url.Values
	note := ""
	from := c.QueryParam("from")
	whole := c.QueryParam("as") == "json"
	switch {
	case from != "":
		t, err := s.copied(ctx, from)
		if err != nil {
			return err
		}
		if t.Type != d.Name {
			return seeOther(c, string(views.URL(ctx, "/enqueue/"+views.Segment(t.Type), "from", from)))
		}
		params := s.shownParams(&t)
		whole, values = fillParams(d, params, whole)
		copyCommon(values, &t, d.Policy)
		if strings.Contains(params, hidden) {
			note = views.T(ctx, "enqueue.secrets")
		}
	case c.QueryParam("example") != "":
		whole, values = fillParams(d, shownExample(d), whole)
	default:
		whole, values = fillParams(d, "{}", whole)
		fillRequired(values, d, whole)
	}
	if whole {
		values.Set("as", "json")
	}
	form := newEnqueueForm(d, values, views.ViewerOf(ctx).Zone)
	page := s.enqueueView(ctx, form, from)
	page.Note = note
	if c.QueryParam("example") == "" && from == "" && string(d.Example) != "{}" {
		page.Example = formURL(ctx, d, from, whole, true)
	}
	return s.render(c, http.StatusOK, views.EnqueuePage(page))
}

// fillParams puts parameters into a form, or as JSON when the fields cannot hold them as they are.
func fillParams(d *tasks.Definition, params string, whole bool) (bool, url.Values) {
	schema := formOf(d.Schema)
	if !whole {
		if values, ok := schema.fill(json.RawMessage(params)); ok {
			return false, values
		}
		if len(schema.fields) == 0 && !schema.open { // there is nothing to fill in
			return false, url.Values{}
		}
	}
	if params == "{}" && len(d.Example) > 0 { // an empty box helps nobody
		params = shownExample(d)
	}
	return true, url.Values{wholeName: {indented(params)}}
}

// fillRequired puts the defaults of required parameters into their fields: they have to be sent.
func fillRequired(values url.Values, d *tasks.Definition, whole bool) {
	if whole {
		return
	}
	schema := formOf(d.Schema)
	for i := range schema.fields {
		f := &schema.fields[i]
		if f.required && len(f.node.Default) > 0 {
			if text, ok := f.text(f.node.Default); ok {
				values.Set(paramPrefix+f.name, text)
			}
		}
	}
}

// copyCommon takes over what a task was given beside its parameters, where it is not what its type says anyway. A unique
// key and a trace belong to the task alone.
func copyCommon(values url.Values, t *models.Task, p tasks.Policy) {
	if t.Priority != p.Priority {
		values.Set("priority", strconv.Itoa(t.Priority))
	}
	if t.MaxRetries != p.MaxRetries {
		values.Set("max_retries", strconv.Itoa(t.MaxRetries))
	}
	if t.Timeout() != p.Timeout {
		values.Set("timeout", spanText(t.Timeout()))
	}
	values.Set("tags", strings.Join(tagsOf(t.Tags), "\n"))
}

func formURL(ctx context.Context, d *tasks.Definition, from string, whole, example bool) templ.SafeURL {
	pairs := []string{"from", from}
	if whole {
		pairs = append(pairs, "as", "json")
	}
	if example {
		pairs = append(pairs, "example", "1")
	}
	return views.URL(ctx, "/enqueue/"+views.Segment(d.Name), pairs...)
}

// enqueueView is the page around a form.
func (s *Server) enqueueView(ctx context.Context, f *enqueueForm, from string) views.EnqueueForm {
	d := f.definition
	page := f.view(ctx)
	page.Type, page.Token = s.typeChoice(ctx, d.Name), rand.Text()
	page.Type.Description = d.Description
	page.Action = views.URL(ctx, "/enqueue/"+views.Segment(d.Name))
	if _, err := strconv.ParseInt(from, 10, 64); err == nil {
		page.From, page.FromURL = from, views.URL(ctx, "/tasks/"+from)
	}
	if f.whole && len(f.schema.fields) > 0 || !f.whole {
		page.Other = formURL(ctx, d, page.From, !f.whole, false)
	}
	return page
}

// enqueuePage reads a form: it shows what it would send, says what is wrong with it, or enqueues the task and goes to it.
func (s *Server) enqueuePage(c echo.Context) error {
	ctx := c.Request().Context()
	d, err := s.enqueueable(c.Param("type"))
	if err != nil {
		return err
	}
	values, err := readForm(c)
	if err != nil {
		return err
	}
	form := newEnqueueForm(d, values, views.ViewerOf(ctx).Zone)
	if t, err := s.copied(ctx, values.Get("from")); err == nil && t.Type == d.Name {
		form.original = t.Params
	}
	form.read(s)
	again := func(status int) error {
		page := s.enqueueView(ctx, form, values.Get("from"))
		if token := values.Get("token"); token != "" && len(token) <= maxToken {
			page.Token = token
		}
		if status == http.StatusOK {
			page.Preview = form.preview(ctx, s.apiAddress(c))
		}
		return s.render(c, status, views.EnqueuePage(page))
	}
	switch {
	case form.bad():
		return again(http.StatusUnprocessableEntity)
	case values.Get("do") == "preview":
		return again(http.StatusOK)
	}
	duplicate := false
	id, err := s.sent.once(ctx, values.Get("token"), func(ctx context.Context) (int64, error) {
		enqueued, err := s.runtime.Enqueue(ctx, form.input.request(ctx, ""))
		duplicate = enqueued.Duplicate
		return enqueued.Task.ID, err
	})
	if bad, ok := errors.AsType[*tasks.InvalidError](err); ok {
		for _, f := range bad.Fields {
			form.add(fieldOf("", f))
		}
		return again(http.StatusUnprocessableEntity)
	}
	if large, ok := errors.AsType[*actors.TooLargeError](err); ok {
		form.fault = new(wrong("", "other", tooLargeText(ctx, large)))
		return again(http.StatusRequestEntityTooLarge)
	}
	if err != nil {
		return err
	}
	m := message{Tone: flashOK, Key: "enqueue.done", Args: []any{"id", strconv.FormatInt(id, 10)}, URL: "/enqueue/" + views.Segment(d.Name)}
	if duplicate {
		m.Tone, m.Key = flashWarn, "enqueue.duplicate"
	}
	s.say(c, m)
	return seeOther(c, string(views.URL(ctx, taskPath(id))))
}

// apiAddress is where a program posts a task, as far as this request can tell.
func (s *Server) apiAddress(c echo.Context) string {
	return schemeOf(c.Request()) + "://" + c.Request().Host + s.baseOf(c.Request()) + apiPath + "/tasks"
}
