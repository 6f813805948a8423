package web

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reax/models"
	"reax/views"
)

type auditInput struct {
	Actor  string `query:"actor" maxLength:"200" doc:"Only what this account, token or way of access did"`
	Action string `query:"action" maxLength:"200" doc:"Only this action, such as retry or pause"`
	Target string `query:"target" maxLength:"200" doc:"Only this kind of target: task, type, schedule, bulk, user, token …"`
	ID     string `query:"id" maxLength:"200" doc:"Only the target with this id or name; needs target"`
	From   string `query:"from" doc:"At or after this instant (RFC 3339)"`
	To     string `query:"to" doc:"Before this instant (RFC 3339)"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
}

type auditOutput struct{ Body auditListJSON }

// auditListJSON is one page of the audit.
type auditListJSON struct {
	Entries    []auditJSON `json:"entries" nullable:"false" doc:"Newest first"`
	NextCursor *string     `json:"next_cursor" doc:"null on the last page. A page looks through 20,000 entries at most, and may have fewer than the limit, even none, and still not be the last"`
}

// auditJSON is one entry of the audit.
type auditJSON struct {
	ID        int64           `json:"id"`
	At        moment          `json:"at"`
	Actor     string          `json:"actor" doc:"Who: an account, a token, or the way of access where nobody has to sign in"`
	Action    string          `json:"action"`
	Target    string          `json:"target" doc:"The kind of what was changed"`
	TargetID  string          `json:"target_id"`
	Reason    string          `json:"reason"`
	Before    json.RawMessage `json:"before" doc:"What was before: an object of the parts that changed, a text, or null"`
	After     json.RawMessage `json:"after" doc:"What is after"`
	Address   string          `json:"address" doc:"Where it was asked for from"`
	RequestID string          `json:"request_id"`
}

func (s *Server) listAudit(ctx context.Context, in *auditInput) (*auditOutput, error) {
	v := url.Values{"actor": {in.Actor}, "action": {in.Action}, "target": {in.Target}, "id": {in.ID}, "from": {in.From}, "to": {in.To}, "cursor": {in.Cursor}}
	q := readAuditQuery(v, time.UTC, time.Now())
	if len(q.faults) > 0 {
		var faults []fieldError
		for name, key := range q.faults {
			faults = append(faults, wrong("query."+name, "other", views.English.Text(key)))
		}
		return nil, invalid(faults)
	}
	page, err := s.ledger.AuditPage(ctx, q.filter, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &auditOutput{Body: auditListJSON{Entries: []auditJSON{}}}
	for _, e := range s.shownAudit(ctx, page.Entries) {
		out.Body.Entries = append(out.Body.Entries, auditJSON{
			ID: e.ID, At: moment(e.At), Actor: e.Actor, Action: e.Action, Target: e.Target, TargetID: e.TargetID, Reason: e.Reason,
			Before: auditValue(e.Before), After: auditValue(e.After), Address: e.Address, RequestID: e.RequestID,
		})
	}
	if page.Next.ID != 0 {
		cursor := encodeAuditCursor(page.Next)
		out.Body.NextCursor = &cursor
	}
	return out, nil
}

// auditValue is what was before or after, as JSON.
func auditValue(text string) json.RawMessage {
	switch {
	case text == "":
		return json.RawMessage("null")
	case text[0] == '{' && json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return quote(text)
}

var auditColumns = []string{"id", "at", "actor", "action", "target", "target_id", "reason", "before", "after", "address", "request_id"}

// exportAudit is the audit as a file, with the filter of its address, newest first.
func (s *Server) exportAudit(c echo.Context) error {
	viewer := s.viewer(c)
	q := readAuditQuery(c.QueryParams(), viewer.Zone, viewer.Now)
	q.filter.After = models.AuditPlace{}
	delete(q.faults, "cursor")
	if len(q.faults) > 0 {
		return newProblem(http.StatusUnprocessableEntity, "invalid", "the filter is not valid")
	}
	ctx := c.Request().Context()
	// The first page is read before anything is sent, so that an error can still be an error.
	page, err := s.auditChunk(ctx, q.filter)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="reax-audit-`+viewer.Now.UTC().Format("20060102T150405Z")+`.csv"`)
	c.Response().WriteHeader(http.StatusOK)
	buffer := bufio.NewWriterSize(c.Response(), 64<<10)
	if err := s.writeAudit(c, q.filter, page, buffer); err != nil {
		s.logger.LogAttrs(ctx, slog.LevelWarn, "an export broke off", slog.String("request_id", callerOf(ctx).requestID), slog.Any("error", err))
		panic(http.ErrAbortHandler) // a file that ends early must not look whole
	}
	return nil
}

func (s *Server) writeAudit(c echo.Context, f models.AuditFilter, page models.AuditPage, buffer *bufio.Writer) error {
	control := http.NewResponseController(c.Response())
	w := csv.NewWriter(buffer)
	if err := w.Write(append([]string{"\ufeff" + auditColumns[0]}, auditColumns[1:]...)); err != nil {
		return err
	}
	ctx := c.Request().Context()
	for rows := 0; ; {
		for _, e := range s.shownAudit(ctx, page.Entries) {
			row := []string{strconv.FormatInt(e.ID, 10), exportTime(e.At), e.Actor, e.Action, e.Target, e.TargetID, e.Reason, e.Before, e.After, e.Address, e.RequestID}
			for i := range row {
				row[i] = plainCell(row[i])
			}
			if err := w.Write(row); err != nil {
				return err
			}
			rows++
		}
		w.Flush()
		_ = control.SetWriteDeadline(time.Now().Add(exportTimeout))
		if err := buffer.Flush(); err != nil {
			return err
		}
		if page.Next.ID == 0 || rows >= exportRows {
			return w.Error()
		}
		f.After = page.Next
		var err error
		if page, err = s.auditChunk(ctx, f); err != nil {
			return err
		}
	}
}

func (s *Server) auditChunk(ctx context.Context, f models.AuditFilter) (models.AuditPage, error) {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	return s.ledger.AuditPage(ctx, f, exportPage)
}
