package web

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/timetable"
	"reax/views"
)

// shownAudit is how many of the latest changes by people a page lists.
const shownAudit = 10

// schedulePage is one schedule.
func (s *Server) schedulePage(c echo.Context) error {
	ctx := c.Request().Context()
	row, err := s.ledger.Schedule(ctx, c.Param("name"))
	if err != nil {
		return scheduleProblem(c.Param("name"), err)
	}
	rows, err := s.planRows(ctx, []models.Schedule{row})
	if err != nil {
		return err
	}
	audit, err := s.ledger.AuditOf(ctx, "schedule", row.Name, shownAudit)
	if err != nil {
		return err
	}
	page := views.Schedule{PlanRow: rows[0], Params: indented(s.shownPlanParams(&row)), Tags: tagsOf(row.Tags), Audit: s.shownAudit(ctx, audit), Token: rand.Text()}
	_, page.Known = s.runtime.Registry().Lookup(row.Task)
	if !page.Next.IsZero() {
		page.Upcoming = upcomingRuns(timetableOf(&row), page.Next.Time().Add(-time.Second), shownUpcoming, views.ViewerOf(ctx).Locale)
	}
	return s.render(c, http.StatusOK, views.SchedulePage(page, pauseFields(ctx, row.Name)))
}

// upcomingRuns are the n runs after from, for a page.
func upcomingRuns(t *timetable.Timetable, from time.Time, n int, l views.Locale) []views.Upcoming {
	var runs []views.Upcoming
	for _, o := range t.Preview(from, n) {
		runs = append(runs, views.Upcoming{At: models.At(o.At), Wall: o.At.Format("2006-01-02 15:04:05 -07:00"), Note: o.NoteText(string(l))})
	}
	return runs
}

// shownPlanParams are the parameters of a schedule as a page may show them.
func (s *Server) shownPlanParams(c *models.Schedule) string {
	return s.shownParams(&models.Task{Type: c.Task, Params: c.Params})
}

func pauseFields(ctx context.Context, name string) views.SwitchForm {
	return views.SwitchForm{
		Name:   name,
		Reason: views.Field{ID: "pause-reason", Name: "reason", Kind: "text", Label: views.T(ctx, "schedules.reason"), Example: views.T(ctx, "schedules.pause.example")},
		Until: views.Field{ID: "pause-until", Name: "until", Kind: "datetime-local", Label: views.T(ctx, "schedules.pause.until"),
			Help: views.T(ctx, "schedules.pause.until_help", "zone", views.ViewerOf(ctx).Zone.String())},
	}
}

// pauseSchedulePage is the form of a pause, for who has no script.
func (s *Server) pauseSchedulePage(c echo.Context) error {
	ctx, name := c.Request().Context(), c.Param("name")
	if _, err := s.ledger.Schedule(ctx, name); err != nil {
		return scheduleProblem(name, err)
	}
	return s.render(c, http.StatusOK, views.PauseSchedulePage(pauseFields(ctx, name)))
}

// pauseScheduleForm pauses a schedule. The end of the pause is in the viewer's zone.
func (s *Server) pauseScheduleForm(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx, name := c.Request().Context(), c.Param("name")
	fields := pauseFields(ctx, name)
	fields.Reason.Value, fields.Until.Value = strings.TrimSpace(form.Get("reason")), strings.TrimSpace(form.Get("until"))
	var until time.Time
	if fields.Until.Value != "" {
		if until, err = parseClock(fields.Until.Value, views.ViewerOf(ctx).Zone); err != nil {
			fields.Until.Error = views.T(ctx, "tasks.bad_time")
		} else if !until.After(time.Now()) {
			fields.Until.Error = views.T(ctx, "schedules.pause.past")
		}
	}
	if len(fields.Reason.Value) > actors.MaxReasonBytes {
		fields.Reason.Error = views.T(ctx, "schedules.long_reason", "n", actors.MaxReasonBytes)
	}
	if fields.Until.Error == "" && fields.Reason.Error == "" {
		_, err := s.runtime.PauseSchedule(ctx, name, until, changeOf(ctx, fields.Reason.Value))
		for location, message := range faultsOf(err) {
			if location == "/until" {
				fields.Until.Error = message
			} else {
				fields.Reason.Error = message
			}
		}
		if faultsOf(err) == nil {
			return s.switched(c, "schedules.done.pause", err)
		}
	}
	return s.render(c, http.StatusUnprocessableEntity, views.PauseSchedulePage(fields))
}

// faultsOf are the messages of an error about fields, by their place; nil when it is none.
func faultsOf(err error) map[string]string {
	bad, ok := errors.AsType[*tasks.InvalidError](err)
	if !ok {
		return nil
	}
	faults := map[string]string{}
	for _, f := range bad.Fields {
		faults[f.Location] = clip(f.Message)
	}
	return faults
}

// switched goes back to the schedule and says what was done, or fails with err.
func (s *Server) switched(c echo.Context, key string, err error, args ...any) error {
	name := c.Param("name")
	if err != nil {
		return scheduleProblem(name, err)
	}
	s.say(c, message{Tone: flashOK, Key: key, Args: append(args, "name", name)})
	return seeOther(c, string(views.URL(c.Request().Context(), "/schedules/"+views.Segment(name))))
}

func (s *Server) resumeScheduleForm(c echo.Context) error {
	if _, err := readForm(c); err != nil {
		return err
	}
	ctx := c.Request().Context()
	_, err := s.runtime.ResumeSchedule(ctx, c.Param("name"), changeOf(ctx, ""))
	return s.switched(c, "schedules.done.resume", err)
}

// runScheduleForm makes a task now and links to it.
func (s *Server) runScheduleForm(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx, name := c.Request().Context(), c.Param("name")
	made, err := s.sent.once(ctx, form.Get("token"), func(ctx context.Context) (int64, error) {
		enqueued, err := s.runtime.RunSchedule(ctx, name, changeOf(ctx, ""))
		return enqueued.Task.ID, err
	})
	if err != nil {
		return scheduleProblem(name, err)
	}
	id := strconv.FormatInt(made, 10)
	s.say(c, message{Tone: flashOK, Key: "schedules.done.run", Args: []any{"id", id}, URL: "/tasks/" + id})
	return seeOther(c, string(views.URL(ctx, "/schedules/"+views.Segment(name))))
}

func (s *Server) deleteSchedulePage(c echo.Context) error {
	ctx, name := c.Request().Context(), c.Param("name")
	row, err := s.ledger.Schedule(ctx, name)
	if err != nil {
		return scheduleProblem(name, err)
	}
	if row.Owner == models.OwnerFile {
		return &models.OwnedError{Name: name, Owner: row.Owner}
	}
	return s.render(c, http.StatusOK, views.DeleteSchedulePage(name))
}

func (s *Server) deleteScheduleForm(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx, name := c.Request().Context(), c.Param("name")
	if err := s.runtime.DeleteSchedule(ctx, name, changeOf(ctx, strings.TrimSpace(form.Get("reason")))); err != nil {
		return scheduleProblem(name, err)
	}
	s.say(c, message{Tone: flashOK, Key: "schedules.done.delete", Args: []any{"name", name}})
	return seeOther(c, string(views.URL(ctx, "/schedules")))
}
