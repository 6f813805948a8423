package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
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

// spreads are the times over which a bulk retry may be spread, in minutes.
var spreads = []int{0, 1, 5, 15, 60}

// bulkOf reads the bulk action that the address names.
func (s *Server) bulkOf(c echo.Context) (models.BulkRun, error) {
	id, err := strconv.ParseInt(c.Param("id"), 10, 64)
	if err != nil || id < 1 {
		return models.BulkRun{}, models.ErrNotFound
	}
	return s.ledger.BulkRun(c.Request().Context(), id)
}

func (s *Server) bulkGone(c echo.Context, err error) error {
	if errors.Is(err, models.ErrNotFound) {
		return s.render(c, http.StatusNotFound, views.BulkGonePage())
	}
	return err
}

// bulkListPage is the bulk actions of late.
func (s *Server) bulkListPage(c echo.Context) error {
	ctx := c.Request().Context()
	var before int64
	var page views.BulkList
	if cursor := c.QueryParam("cursor"); cursor != "" {
		var err error
		if before, err = decodeCursor(cursor); err != nil {
			return newProblem(http.StatusUnprocessableEntity, "invalid", "query.cursor: %s", err)
		}
		page.Newest = views.URL(ctx, "/bulk")
	}
	size := pageRows(ctx)
	rows, err := s.ledger.BulkRuns(ctx, before, size+1)
	if err != nil {
		return err
	}
	if page.Rows = rows; len(rows) > size {
		page.Rows = rows[:size]
		page.Older = views.URL(ctx, "/bulk", "cursor", encodeCursor(rows[size-1].ID))
	}
	return s.render(c, http.StatusOK, views.BulkListPage(page))
}

// bulkRunPage asks before a bulk action, or shows how far it is.
func (s *Server) bulkRunPage(c echo.Context) error {
	run, err := s.bulkOf(c)
	if err != nil {
		return s.bulkGone(c, err)
	}
	return s.showBulk(c, http.StatusOK, &run, bulkForm{back: s.bulkBack(c, c.QueryParam("back")), reason: run.Reason})
}

// bulkBack is where somebody came from; who came from nowhere goes on to the other bulk actions.
func (s *Server) bulkBack(c echo.Context, back string) string {
	if back == "" {
		return string(views.URL(c.Request().Context(), "/bulk"))
	}
	return s.backTo(back)
}

// startBulk does what was asked about.
func (s *Server) startBulk(c echo.Context) error {
	ctx := c.Request().Context()
	posted, err := readForm(c)
	if err != nil {
		return err
	}
	run, err := s.bulkOf(c)
	if err != nil {
		return s.bulkGone(c, err)
	}
	if err := requireFor(ctx, actors.Action(run.Action)); err != nil {
		return err
	}
	form := bulkForm{back: s.bulkBack(c, posted.Get("back")), reason: strings.TrimSpace(posted.Get("reason")), spread: posted.Get("spread")}
	minutes, err := strconv.Atoi(form.spread)
	if form.spread != "" && (err != nil || !slices.Contains(spreads, minutes)) {
		return newProblem(http.StatusUnprocessableEntity, "invalid", "spread: must be one of the minutes that the form offers")
	}
	if run.Action == models.ActionDiscard && form.reason == "" {
		form.fault = "bulk.reason_needed"
	}
	if len(form.reason) > actors.MaxReasonBytes || !utf8.ValidString(form.reason) {
		form.fault = "bulk.reason_bad"
	}
	if form.fault == "" {
		_, err = s.runtime.StartBulk(ctx, run.ID, time.Duration(minutes)*time.Minute, changeOf(ctx, form.reason))
		if invalid := (*tasks.InvalidError)(nil); errors.As(err, &invalid) {
			form.fault = "bulk.reason_bad"
		} else if err != nil {
			return s.bulkGone(c, err)
		}
	}
	if form.fault != "" {
		return s.showBulk(c, http.StatusUnprocessableEntity, &run, form)
	}
	return seeOther(c, bulkURL(c, run.ID, form.back))
}

// stopBulk ends a bulk action where it is.
func (s *Server) stopBulk(c echo.Context) error {
	ctx := c.Request().Context()
	posted, err := readForm(c)
	if err != nil {
		return err
	}
	run, err := s.bulkOf(c)
	if err != nil {
		return s.bulkGone(c, err)
	}
	ended := run.State == models.BulkDone || run.State == models.BulkStopped
	if run, err = s.runtime.StopBulk(ctx, run.ID, changeOf(ctx, "")); err != nil {
		return s.bulkGone(c, err)
	}
	if ended || run.State != models.BulkStopped {
		s.say(c, message{Tone: flashWarn, Key: "bulk.ended_before"})
	} else {
		s.say(c, message{Tone: flashOK, Key: "bulk.stopped_at", Args: []any{"n", run.Done}})
	}
	return seeOther(c, bulkURL(c, run.ID, s.bulkBack(c, posted.Get("back"))))
}

// bulkForm is what somebody has written into the question.
type bulkForm struct {
	back, reason, spread string
	fault                string // key of what is wrong with the reason
}

func (s *Server) showBulk(c echo.Context, status int, run *models.BulkRun, form bulkForm) error {
	ctx := c.Request().Context()
	page := views.Bulk{BulkRun: *run, Back: form.back, BackURL: safe(form.back)}
	if run.Patch != "" {
		page.Patch = indented(s.maskParams(run.Type, run.Patch))
	}
	var err error
	if run.State == models.BulkPlanned {
		page.Fields = form.fields(c, run.Action)
	} else if err = s.bulkSkips(ctx, run, &page); err != nil {
		return err
	}
	if err = s.bulkRows(c, run, &page); err != nil {
		return err
	}
	return s.render(c, status, views.BulkPage(page))
}

// bulkSkips says what was left alone, and why.
func (s *Server) bulkSkips(ctx context.Context, run *models.BulkRun, page *views.Bulk) error {
	skips, err := s.ledger.BulkSkips(ctx, run.ID, actors.MaxBulkSkips)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, skip := range skips {
		text := views.T(ctx, "bulk.skip."+skip.Code)
		if counts[text]++; counts[text] == 1 {
			page.Why = append(page.Why, views.BulkWhy{Text: text})
		}
		if len(page.Listed) < bulkListed {
			page.Listed = append(page.Listed, views.BulkSkip{ID: skip.TaskID, Text: skipText(ctx, skip.Code, skip.Reason)})
		}
	}
	for i := range page.Why {
		page.Why[i].N = counts[page.Why[i].Text]
	}
	return nil
}

// skipText says why a task is left alone. What is wrong with its parameters is said as the schema has it.
func skipText(ctx context.Context, code, reason string) string {
	text := views.T(ctx, "bulk.skip."+code)
	if code == models.SkipInvalid {
		return views.T(ctx, "bulk.skip_detail", "why", text, "detail", strings.TrimPrefix(reason, "/params/"))
	}
	return text
}

// bulkRows are some of the tasks of the set, as they are now; before a replace, what would come of them.
func (s *Server) bulkRows(c echo.Context, run *models.BulkRun, page *views.Bulk) error {
	ctx := c.Request().Context()
	set, err := s.ledger.BulkSet(ctx, run.ID)
	if err != nil {
		return err
	}
	if run.State == models.BulkPlanned {
		set = set[:min(len(set), bulkTried)]
		if run.Action == models.ActionReplace {
			return s.tryPatch(ctx, run, set, page)
		}
	} else if set, err = bulkPart(c, run, set, page); err != nil {
		return err
	}
	rows, err := s.ledger.Previews(ctx, set)
	page.Rows = s.taskRows(rows)
	return err
}

// bulkPart is one page of a set.
func bulkPart(c echo.Context, run *models.BulkRun, set []int64, page *views.Bulk) ([]int64, error) {
	ctx := c.Request().Context()
	url := func(cursor string) string {
		return string(views.URL(ctx, bulkPath(run.ID), "cursor", cursor, "back", page.Back))
	}
	if cursor := c.QueryParam("cursor"); cursor != "" {
		before, err := decodeCursor(cursor)
		if err != nil {
			return nil, newProblem(http.StatusUnprocessableEntity, "invalid", "query.cursor: %s", err)
		}
		from, _ := slices.BinarySearchFunc(set, before-1, func(id, below int64) int { return int(min(max(below-id, -1), 1)) })
		set, page.Newest = set[from:], safe(url(""))
	}
	if size := pageRows(ctx); len(set) > size {
		set = set[:size]
		page.Older = safe(url(encodeCursor(set[size-1])))
	}
	return set, nil
}

func (s *Server) tryPatch(ctx context.Context, run *models.BulkRun, ids []int64, page *views.Bulk) error {
	tried, err := s.runtime.TryPatch(ctx, ids, json.RawMessage(run.Patch))
	if err != nil {
		return err
	}
	slices.SortFunc(tried, func(a, b actors.PatchTried) int { return cmp.Compare(b.Task.ID, a.Task.ID) })
	for i := range tried {
		t := views.PatchTry{ID: tried[i].Task.ID}
		if skip := tried[i].Skip; skip != nil {
			t.Why = skipText(ctx, skip.Code, skip.Reason)
			page.Unfit++
		} else {
			t.Params = s.maskParams(run.Type, string(tried[i].Params))
		}
		page.Tried = append(page.Tried, t)
	}
	return nil
}

// fields are the inputs of the question.
func (f bulkForm) fields(c echo.Context, action string) (fields []views.Field) {
	ctx := c.Request().Context()
	if action == models.ActionRetry || action == models.ActionReplace {
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
		MaxLen: strconv.Itoa(actors.MaxReasonBytes), Required: action == models.ActionDiscard, Help: views.T(ctx, "bulk.reason_help"),
	}
	if f.fault != "" {
		reason.Error = views.T(ctx, f.fault)
	}
	return append(fields, reason)
}
