package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/views"
)

// The choices of for how long a group is muted, as the form names them.
const (
	muteNo     = "no"
	muteKeep   = "keep" // it stays as it is
	muteAlways = "always"
)

var muteSpans = []struct {
	name string
	span time.Duration
}{{"1h", time.Hour}, {"24h", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}}

// markFields are the inputs of what people know of a group. faults has what is wrong by the name of the input.
func markFields(ctx context.Context, g *models.ErrorGroup, form url.Values, faults map[string]string) []views.Field {
	quiet := g.Mark.IsMuted(models.At(views.ViewerOf(ctx).Now))
	value := func(name, stored string) string {
		if form.Has(name) {
			return form.Get(name)
		}
		return stored
	}
	field := func(name, kind, stored string, most int) views.Field {
		return views.Field{ID: "mark-" + name, Name: name, Kind: kind, Label: views.T(ctx, "dead.mark."+name), Help: views.T(ctx, "dead.mark_help."+name),
			Value: value(name, stored), MaxLen: strconv.Itoa(most), Error: faults[name]}
	}
	note := field("note", "textarea", g.Mark.Note, actors.MaxReasonBytes)
	note.Rows = "2"
	mute := field("mute", "select", muteNo, 10)
	names := []string{muteNo}
	if quiet {
		if !form.Has("mute") {
			mute.Value = muteKeep
		}
		names = append(names, muteKeep)
	}
	for _, m := range muteSpans {
		names = append(names, m.name)
	}
	for _, name := range append(names, muteAlways) {
		mute.Options = append(mute.Options, views.Option{Value: name, Text: views.T(ctx, "dead.mute."+name)})
	}
	mute.MaxLen = ""
	return []views.Field{field("name", "text", g.Mark.Name, actors.MaxGroupNameBytes), note, field("link", "url", g.Mark.Link, actors.MaxReasonBytes), mute}
}

// markDeadGroup keeps what somebody says of a group of errors.
func (s *Server) markDeadGroup(c echo.Context) error {
	ctx := c.Request().Context()
	form, err := readForm(c)
	if err != nil {
		return err
	}
	g, err := s.deadGroupOf(c)
	if err != nil {
		return err
	}
	now := views.ViewerOf(ctx).Now
	m := models.GroupMark{Type: g.Type, Fingerprint: g.Fingerprint, Name: strings.TrimSpace(form.Get("name")),
		Note: strings.Join(strings.Fields(form.Get("note")), " "), Link: strings.TrimSpace(form.Get("link")), Muted: true}
	switch mute := form.Get("mute"); mute {
	case "", muteNo:
		m.Muted = false
	case muteKeep:
		m.Muted, m.MutedUntil = g.Mark.IsMuted(models.At(now)), g.Mark.MutedUntil
	case muteAlways:
	default:
		for _, span := range muteSpans {
			if span.name == mute {
				m.MutedUntil = models.At(now.Add(span.span))
			}
		}
		if m.MutedUntil == 0 {
			return newProblem(http.StatusUnprocessableEntity, "invalid", "mute: must be one of the choices of the form")
		}
	}
	kept, err := s.runtime.MarkGroup(ctx, m, changeOf(ctx, ""))
	if invalid := (*tasks.InvalidError)(nil); errors.As(err, &invalid) {
		faults := map[string]string{}
		for _, f := range fieldErrors("", invalid) {
			faults[strings.TrimPrefix(f.Location, "/")] = faultText(ctx, f)
		}
		return s.showDeadGroup(c, http.StatusUnprocessableEntity, &g, markFields(ctx, &g, form, faults))
	}
	if err != nil {
		return err
	}
	key := "dead.marked"
	if was, is := g.Mark.IsMuted(models.At(now)), kept.IsMuted(models.At(now)); was != is {
		key = map[bool]string{true: "dead.marked_mute", false: "dead.marked_unmute"}[is]
	}
	s.say(c, message{Tone: flashOK, Key: key})
	return seeOther(c, groupURL(ctx, &g))
}
