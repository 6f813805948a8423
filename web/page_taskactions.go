package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/views"
)

// taskActions are the buttons for a task. Each is in its place in every state; one that makes no sense says why.
func (s *Server) taskActions(ctx context.Context, t *models.Task) []views.TaskAction {
	id := taskPath(t.ID)
	say := func(key string) string { return views.T(ctx, key) }
	d, known := s.runtime.Registry().Lookup(t.Type)
	stopped := t.State == models.StateFailed || t.State == models.StateDead
	later := t.State == models.StatePending && t.ReadyAt == 0

	run := views.TaskAction{Name: "retry", Text: say("task.do.retry"), Icon: "retry", Class: "primary", Post: views.URL(ctx, id+"/retry")}
	switch {
	case t.State == models.StateRetryWait, later:
		run.Text, run.Icon = say("task.do.run_now"), "play"
	case t.State == models.StatePending:
		run.Off = say("task.off.waits")
	case t.State == models.StateRunning:
		run.Off = say("task.off.runs")
	case t.State == models.StateSuccess:
		run.Off = say("task.off.succeeded")
	}

	copying := views.TaskAction{Name: "copy", Text: say("task.do.copy"), Icon: "edit",
		Link: views.URL(ctx, "/enqueue/"+views.Segment(t.Type), "from", strconv.FormatInt(t.ID, 10))}
	repeat := views.TaskAction{Name: "repeat", Text: say("task.do.repeat"), Icon: "copy", Post: views.URL(ctx, id+"/repeat")}
	if !t.State.IsFinal() {
		repeat.Off = say("task.off.unfinished")
	}
	switch {
	case !known:
		copying.Off, repeat.Off = say("task.off.no_type"), say("task.off.no_type")
	case d.Internal:
		copying.Off = say("task.off.own_type")
	}

	stop := views.TaskAction{Name: "cancel", Text: say("task.do.cancel"), Icon: "ban", Post: views.URL(ctx, id+"/cancel")}
	switch {
	case t.State == models.StateRunning && !t.CancelRequestedAt.IsZero():
		stop.Off = say("task.off.stopping")
	case t.State == models.StateCancelled:
		stop.Off = say("task.off.cancelled")
	case t.State.IsFinal():
		stop.Off = say("task.off.ended")
	}
	discard := views.TaskAction{Name: "discard", Text: say("task.do.discard"), Icon: "trash", Class: "danger", Link: views.URL(ctx, id+"/discard"), Dialog: "discard"}
	if !stopped {
		discard.Off = say("task.off.not_failed")
	}
	actions := []views.TaskAction{run, copying, repeat, stop, discard}
	for i := range actions {
		switch {
		case actions[i].Name == "discard" && !views.May(ctx, admin):
			actions[i].Off = say("access.off.admin")
		case !views.May(ctx, operator):
			actions[i].Off = say("access.off.operator")
		}
	}
	return actions
}

func discardConfirmation(ctx context.Context, t *models.Task) views.Confirmation {
	return views.Confirmation{
		ID: "discard", Text: views.T(ctx, "task.discard.text"), Action: views.URL(ctx, taskPath(t.ID)+"/discard"),
		Reason: views.T(ctx, "task.discard.reason"), ReasonRequired: true, Button: views.T(ctx, "task.discard.button"), Danger: true,
		Back: views.URL(ctx, taskPath(t.ID)),
	}
}

// discardPage asks for the reason of a discard where there is no script.
func (s *Server) discardPage(c echo.Context) error {
	t, err := s.taskOf(c)
	if err != nil {
		return err
	}
	if t.State != models.StateFailed && t.State != models.StateDead {
		return &models.StateError{ID: t.ID, State: t.State, Action: models.ActionDiscard}
	}
	return s.render(c, http.StatusOK, views.TaskDiscardPage(t, discardConfirmation(c.Request().Context(), &t)))
}

// act changes the task that the address names and goes back to its page, or to where the form says. A task that is in
// another state by now is no error to stop at: its page shows what it is.
func (s *Server) act(c echo.Context, action actors.Action, do func(ctx context.Context, id int64, by actors.Change) (models.Task, error)) error {
	ctx := c.Request().Context()
	t, err := s.taskOf(c)
	if err != nil {
		return err
	}
	form, err := readForm(c)
	if err != nil {
		return err
	}
	page := taskPath(t.ID)
	back := string(views.URL(ctx, page))
	if form.Get("back") != "" {
		back = s.backTo(form.Get("back"))
	}
	refuse := func(to string, m message) error {
		m.Tone = flashBad
		s.say(c, m)
		return seeOther(c, to)
	}
	reason := strings.TrimSpace(form.Get("reason"))
	switch {
	case len(reason) > actors.MaxReasonBytes:
		return refuse(back, message{Key: "bulk.long_reason", Args: []any{"n", actors.MaxReasonBytes}})
	case action == actors.ActionDiscard && reason == "":
		return refuse(string(views.URL(ctx, page+"/discard")), message{Key: "bulk.no_reason"})
	}
	_, err = do(ctx, t.ID, changeOf(ctx, reason))
	if wrong, ok := errors.AsType[*models.StateError](err); ok {
		return refuse(back, message{Key: "task.refused." + string(wrong.State), Args: []any{"id", strconv.FormatInt(t.ID, 10)}, URL: page})
	}
	if held, ok := errors.AsType[*models.KeyHeldError](err); ok {
		return refuse(back, message{Key: "task.key_held", Args: []any{"id", strconv.FormatInt(held.Holder, 10)}, URL: taskPath(held.Holder)})
	}
	if err != nil {
		return err
	}
	key := string(action)
	switch {
	case action == actors.ActionCancel && t.State == models.StateRunning:
		key = "stop"
	case action == actors.ActionRetry && t.State.IsWaiting():
		key = "run_now"
	}
	s.say(c, message{Tone: flashOK, Key: "task.did." + key, Args: []any{"id", strconv.FormatInt(t.ID, 10)}, URL: page})
	return seeOther(c, back)
}

func (s *Server) retryPage(c echo.Context) error {
	return s.act(c, actors.ActionRetry, s.runtime.Retry)
}

func (s *Server) cancelPage(c echo.Context) error {
	return s.act(c, actors.ActionCancel, s.runtime.Cancel)
}

func (s *Server) discardTaskPage(c echo.Context) error {
	return s.act(c, actors.ActionDiscard, s.runtime.Discard)
}

// repeatPage enqueues a copy of a finished task and goes to it.
func (s *Server) repeatPage(c echo.Context) error {
	ctx := c.Request().Context()
	t, err := s.taskOf(c)
	if err != nil {
		return err
	}
	form, err := readForm(c)
	if err != nil {
		return err
	}
	id, err := s.sent.once(ctx, form.Get("token"), func(ctx context.Context) (int64, error) {
		enqueued, err := s.runtime.Repeat(ctx, t.ID, nil, changeOf(ctx, ""))
		return enqueued.Task.ID, err
	})
	if wrong, ok := errors.AsType[*models.StateError](err); ok {
		s.say(c, message{Tone: flashBad, Key: "task.refused." + string(wrong.State), Args: []any{"id", strconv.FormatInt(t.ID, 10)}})
		return seeOther(c, string(views.URL(ctx, taskPath(t.ID))))
	}
	if err != nil {
		return err
	}
	s.say(c, message{Tone: flashOK, Key: "task.did.repeat", Args: []any{"id", strconv.FormatInt(t.ID, 10)}, URL: taskPath(t.ID)})
	return seeOther(c, string(views.URL(ctx, taskPath(id))))
}
