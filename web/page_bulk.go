package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/views"
)

const (
	bulkStraight = 50 // as many picked tasks are changed without another question
	bulkListed   = 50 // of the tasks that were left alone
)

// spreads are the times over which a bulk retry may be spread, in minutes.
var spreads = []int{0, 1, 5, 15, 60}

// bulkPage retries, cancels or discards the tasks that were picked in a list and goes back to it, or asks about all
// that match the list's filter.
func (s *Server) bulkPage(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	if form.Has("one") {
		id, err := readID(form.Get("one"))
		if err != nil {
			return err
		}
		done, err := s.retryOne(c, id)
		if err != nil {
			return err
		}
		if done {
			s.say(c, message{Tone: flashOK, Key: "dead.retried", Args: []any{"id", fmt.Sprint(id)}, URL: fmt.Sprintf("/tasks/%d", id)})
		}
		return seeOther(c, s.backTo(form.Get("back")))
	}
	back := func(m message) error {
		s.say(c, m)
		return seeOther(c, s.backTo(form.Get("back")))
	}
	refuse := func(key string, args ...any) error { return back(message{Tone: flashBad, Key: key, Args: args}) }

	action, reason := actors.Action(form.Get("do")), strings.TrimSpace(form.Get("reason"))
	ids, all := form["id"], form.Get("scope") == "all"
	switch {
	case !slices.Contains([]actors.Action{actors.ActionRetry, actors.ActionCancel, actors.ActionDiscard}, action):
		return newProblem(http.StatusUnprocessableEntity, "invalid", "do: must be retry, cancel or discard")
	case len(reason) > actors.MaxReasonBytes:
		return refuse("bulk.long_reason", "n", actors.MaxReasonBytes)
	case len(ids) == 0 && !all:
		return refuse("bulk.none")
	case len(ids) > actors.MaxBulkTasks:
		return refuse("bulk.too_many", "n", actors.MaxBulkTasks)
	}
	req := actors.BulkRequest{Action: action, Change: changeOf(c.Request().Context(), reason)}
	if all {
		f, fault := s.bulkFilter(c, form.Get("query"))
		if fault != "" {
			return refuse(fault)
		}
		req.Filter = &f
		return s.planBulk(c, req, form.Get("back"))
	}
	for _, text := range ids {
		id, err := readID(text)
		if err != nil {
			return err
		}
		req.IDs = append(req.IDs, id)
	}
	if len(ids) > bulkStraight || action == actors.ActionDiscard && reason == "" {
		return s.planBulk(c, req, form.Get("back"))
	}
	report, err := s.runtime.Bulk(c.Request().Context(), req)
	if err != nil {
		return err
	}
	if report.SkippedTotal == 0 {
		return back(message{Tone: flashOK, Key: "bulk.done." + string(action), Args: []any{"n", report.Done}})
	}
	why := ""
	if len(report.Skipped) > 0 {
		why = views.T(c.Request().Context(), "bulk.skip."+report.Skipped[0].Code)
	}
	return back(message{Tone: flashWarn, Key: "bulk.part." + string(action), Args: []any{"n", report.Done, "skipped", report.SkippedTotal, "why", why}})
}

// bulkFilter reads the filter of a list. fault is the key of what is wrong with it.
func (s *Server) bulkFilter(c echo.Context, query string) (f models.Filter, fault string) {
	viewer := views.ViewerOf(c.Request().Context())
	values, err := url.ParseQuery(query)
	if err != nil {
		return f, "bulk.bad_filter"
	}
	values.Del("cursor")
	t := readTasksQuery(values, viewer.Zone, viewer.Now)
	switch {
	case len(t.faults) > 0:
		return f, "bulk.bad_filter"
	case t.state == "" && t.typ == "" && !t.narrows():
		return f, "bulk.no_filter" // every task that there is: nobody means that
	}
	return t.filter, ""
}

// planBulk freezes the set of a bulk action and goes on to the question about it.
func (s *Server) planBulk(c echo.Context, req actors.BulkRequest, back string) error {
	ctx := c.Request().Context()
	plan, err := s.runtime.PlanBulk(ctx, req)
	if large := (*actors.TooLargeError)(nil); errors.As(err, &large) {
		s.say(c, message{Tone: flashBad, Key: "bulk.too_many", Args: []any{"n", large.Limit}})
		return seeOther(c, s.backTo(back))
	}
	if err != nil {
		return err
	}
	return seeOther(c, bulkURL(c, plan.ID, s.backTo(back)))
}

func bulkURL(c echo.Context, id, back string) string {
	return string(views.URL(c.Request().Context(), "/bulk/"+views.Segment(id), "back", back))
}

// bulkRunPage asks before a bulk action, or shows how far it is.
func (s *Server) bulkRunPage(c echo.Context) error {
	run, ok := s.runtime.BulkRun(c.Param("id"))
	if !ok {
		return s.render(c, http.StatusNotFound, views.BulkGonePage())
	}
	return s.showBulk(c, http.StatusOK, &run, bulkForm{back: s.backTo(c.QueryParam("back")), reason: run.Reason})
}

// startBulk does what was asked about.
func (s *Server) startBulk(c echo.Context) error {
	posted, err := readForm(c)
	if err != nil {
		return err
	}
	id := c.Param("id")
	run, ok := s.runtime.BulkRun(id)
	if !ok {
		return s.render(c, http.StatusNotFound, views.BulkGonePage())
	}
	form := bulkForm{back: s.backTo(posted.Get("back")), reason: strings.TrimSpace(posted.Get("reason")), spread: posted.Get("spread")}
	minutes, err := strconv.Atoi(form.spread)
	if form.spread != "" && (err != nil || !slices.Contains(spreads, minutes)) {
		return newProblem(http.StatusUnprocessableEntity, "invalid", "spread: must be one of the minutes that the form offers")
	}
	if run.Action == actors.ActionDiscard && form.reason == "" {
		form.fault = "bulk.reason_needed"
	}
	if len(form.reason) > actors.MaxReasonBytes || !utf8.ValidString(form.reason) {
		form.fault = "bulk.reason_bad"
	}
	if form.fault == "" {
		_, err = s.runtime.StartBulk(id, time.Duration(minutes)*time.Minute, changeOf(c.Request().Context(), form.reason))
		if invalid := (*tasks.InvalidError)(nil); errors.As(err, &invalid) {
			form.fault = "bulk.reason_bad"
		} else if err != nil {
			return err
		}
	}
	if form.fault != "" {
		return s.showBulk(c, http.StatusUnprocessableEntity, &run, form)
	}
	return seeOther(c, bulkURL(c, id, form.back))
}

// bulkForm is what somebody has written into the question.
type bulkForm struct {
	back, reason, spread string
	fault                string // key of what is wrong with the reason
}

func (s *Server) showBulk(c echo.Context, status int, run *actors.BulkRun, form bulkForm) error {
	ctx := c.Request().Context()
	page := views.Bulk{
		ID: run.ID, Action: string(run.Action), Planned: run.State == actors.BulkPlanned, Running: run.State == actors.BulkRunning,
		N: run.Report.Matched, Done: run.Report.Done, Skipped: run.Report.SkippedTotal, By: run.By, Reason: run.Reason, Spread: run.Spread,
		Back: form.back, BackURL: safe(form.back),
	}
	if !page.Planned {
		page.StartedAt = models.At(run.StartedAt)
		if !run.FinishedAt.IsZero() {
			page.FinishedAt = models.At(run.FinishedAt)
		}
	}
	counts := map[string]int{}
	for _, skip := range run.Report.Skipped {
		text := views.T(ctx, "bulk.skip."+skip.Code)
		if counts[text]++; counts[text] == 1 {
			page.Why = append(page.Why, views.BulkWhy{Text: text})
		}
		if len(page.Listed) < bulkListed {
			page.Listed = append(page.Listed, views.BulkSkip{ID: skip.ID, Text: text})
		}
	}
	for i := range page.Why {
		page.Why[i].N = counts[page.Why[i].Text]
	}
	if page.Planned {
		page.Fields = form.fields(c, run.Action)
		sample, err := s.ledger.Previews(ctx, run.Sample)
		if err != nil {
			return err
		}
		page.Sample = s.taskRows(sample)
	}
	return s.render(c, status, views.BulkPage(page))
}

// fields are the inputs of the question.
func (f bulkForm) fields(c echo.Context, action actors.Action) (fields []views.Field) {
	ctx := c.Request().Context()
	if action == actors.ActionRetry {
		spread := views.Field{ID: "spread", Name: "spread", Kind: "radio", Label: views.T(ctx, "bulk.spread"), Value: f.spread, Help: views.T(ctx, "bulk.spread_help")}
		if spread.Value == "" {
			spread.Value = "0"
		}
		for _, minutes := range spreads {
			o := views.Option{Value: strconv.Itoa(minutes), Text: views.Duration(ctx, time.Duration(minutes)*time.Minute)}
			if minutes == 0 {
				o.Text = views.T(ctx, "bulk.at_once")
			}
			spread.Options = append(spread.Options, o)
		}
		fields = append(fields, spread)
	}
	reason := views.Field{
		ID: "reason", Name: "reason", Kind: "textarea", Label: views.T(ctx, "bulk.reason_label"), Value: f.reason, Rows: "2",
		MaxLen: strconv.Itoa(actors.MaxReasonBytes), Required: action == actors.ActionDiscard, Help: views.T(ctx, "bulk.reason_help"),
	}
	if f.fault != "" {
		reason.Error = views.T(ctx, f.fault)
	}
	return append(fields, reason)
}
