package web

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reax/models"
)

const (
	exportRows    = 100_000
	exportPage    = 500
	exportTimeout = 30 * time.Second // for one page of the list and its way to the client
)

// exportCSV and exportJSON are the list of tasks as a file, with the filter and the order of its address.
func (s *Server) exportCSV(c echo.Context) error {
	return s.export(c, "csv", "text/csv; charset=utf-8", func(w io.Writer) exporter { return &csvExport{csv.NewWriter(w)} })
}

func (s *Server) exportJSON(c echo.Context) error {
	return s.export(c, "json", "application/json; charset=utf-8", func(w io.Writer) exporter { return &jsonExport{w: w} })
}

// exporter writes tasks in one format.
type exporter interface {
	begin() error
	task(t *models.Task) error
	end() error
}

func (s *Server) export(c echo.Context, format, mediaType string, open func(io.Writer) exporter) error {
	viewer := s.viewer(c)
	t := s.tasksQuery(c.QueryParams(), viewer.Zone, viewer.Now)
	t.filter.Before, t.filter.After = 0, models.Place{}
	delete(t.faults, "cursor")
	if len(t.faults) > 0 {
		return newProblem(http.StatusUnprocessableEntity, "invalid", "the filter is not valid")
	}
	// The first page is read before anything is sent, so that an error can still be an error.
	page, err := s.exportPage(c.Request().Context(), t.filter)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, mediaType)
	h.Set("Content-Disposition", `attachment; filename="reax-tasks-`+viewer.Now.UTC().Format("20060102T150405Z")+"."+format+`"`)
	c.Response().WriteHeader(http.StatusOK)
	buffer := bufio.NewWriterSize(c.Response(), 64<<10)
	if err := s.exportPages(c, t.filter, page, buffer, open(buffer)); err != nil {
		s.logger.LogAttrs(c.Request().Context(), slog.LevelWarn, "an export broke off",
			slog.String("request_id", callerOf(c.Request().Context()).requestID), slog.Any("error", err))
		panic(http.ErrAbortHandler) // a file that ends early must not look whole
	}
	return nil
}

func (s *Server) exportPages(c echo.Context, f models.Filter, page models.Page, buffer *bufio.Writer, e exporter) error {
	control := http.NewResponseController(c.Response())
	// A task that the text of the filter names is on the first page, and once more where it belongs.
	early := map[int64]bool{}
	for i := range page.Tasks {
		early[page.Tasks[i].ID] = true
	}
	if err := e.begin(); err != nil {
		return err
	}
	for first, rows := true, 0; ; first = false {
		for i := range page.Tasks {
			t := &page.Tasks[i]
			if !first && early[t.ID] {
				continue
			}
			if rows++; rows > exportRows {
				break
			}
			if err := e.task(s.shown(t)); err != nil {
				return err
			}
		}
		_ = control.SetWriteDeadline(time.Now().Add(exportTimeout))
		if err := buffer.Flush(); err != nil {
			return err
		}
		if rows >= exportRows || !goOn(&f, &page) {
			break
		}
		var err error
		if page, err = s.exportPage(c.Request().Context(), f); err != nil {
			return err
		}
	}
	if err := e.end(); err != nil {
		return err
	}
	return buffer.Flush()
}

func (s *Server) exportPage(ctx context.Context, f models.Filter) (models.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	page, err := s.ledger.List(ctx, f, exportPage)
	if err != nil {
		return page, err
	}
	return s.whole(ctx, page)
}

type csvExport struct{ *csv.Writer }

var exportColumns = []string{
	"id", "type", "state", "priority", "attempt", "failures", "max_retries", "suspected", "created_at", "run_at", "started_at",
	"finished_at", "updated_at", "trace_id", "unique_key", "tags", "schedule", "scheduled_for", "enqueued_by", "error_kind", "fingerprint",
	"error", "result", "params",
}

// begin says which letters the file is written in: spreadsheets guess, and mostly wrong.
func (e *csvExport) begin() error {
	return e.Write(append([]string{"\ufeff" + exportColumns[0]}, exportColumns[1:]...))
}

func (e *csvExport) task(t *models.Task) error {
	row := []string{
		strconv.FormatInt(t.ID, 10), t.Type, string(t.State), strconv.Itoa(t.Priority), strconv.Itoa(t.Attempt), strconv.Itoa(t.Failures),
		strconv.Itoa(t.MaxRetries), t.Suspected, exportTime(t.CreatedAt), exportTime(t.RunAt), exportTime(t.StartedAt),
		exportTime(t.FinishedAt), exportTime(t.UpdatedAt), t.TraceID, t.UniqueKey, t.Tags, t.Schedule, exportTime(t.ScheduledFor),
		t.EnqueuedBy, t.ErrorKind, t.Fingerprint, t.Error, t.Result, t.Params,
	}
	for i := range row {
		row[i] = plainCell(row[i])
	}
	if err := e.Write(row); err != nil {
		return err
	}
	e.Flush()
	return e.Error()
}

func (e *csvExport) end() error {
	e.Flush()
	return e.Error()
}

// plainCell keeps a spreadsheet from taking a text for a formula.
func plainCell(text string) string {
	if text == "" {
		return text
	}
	switch text[0] {
	case '=', '+', '-', '@', '\t', '\r', '\n':
		return "'" + text
	}
	return text
}

func exportTime(at models.Instant) string {
	if at.IsZero() {
		return ""
	}
	return at.Time().Format("2006-01-02T15:04:05.000000Z")
}

type jsonExport struct {
	w    io.Writer
	rows int
}

func (e *jsonExport) begin() error {
	_, err := io.WriteString(e.w, "[")
	return err
}

func (e *jsonExport) task(t *models.Task) error {
	text, err := json.Marshal(taskRow(t))
	if err != nil {
		return err
	}
	separator := ",\n"
	if e.rows++; e.rows == 1 {
		separator = "\n"
	}
	_, err = e.w.Write(append([]byte(separator), text...))
	return err
}

func (e *jsonExport) end() error {
	_, err := io.WriteString(e.w, "\n]\n")
	return err
}
