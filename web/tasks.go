package web

import (
	"context"
	"errors"

	"reax/models"
)

// maxListBytes is about how large the long texts of a page may be together; it ends early rather than being larger.
const maxListBytes = 2 << 20

type listInput struct {
	FilterJSON
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
}

type listOutput struct {
	Body taskListJSON
}

// taskListJSON is one page of tasks.
type taskListJSON struct {
	Tasks      []TaskJSON `json:"tasks" nullable:"false"`
	NextCursor *string    `json:"next_cursor" doc:"null on the last page. A page of large tasks, or of a search that takes long, may have fewer tasks than the limit, even none, and still not be the last"`
}

func (s *Server) listTasks(ctx context.Context, in *listInput) (*listOutput, error) {
	f, faults := in.filter(func(field string) string { return "query." + field })
	if in.Cursor != "" {
		var err error
		if f.Before, err = decodeCursor(in.Cursor); err != nil {
			faults = append(faults, fieldError{"query.cursor", err.Error()})
		}
	}
	if len(faults) > 0 {
		return nil, invalid(faults)
	}
	page, err := s.ledger.List(ctx, f, in.Limit)
	if err != nil {
		return nil, err
	}
	if page, err = s.whole(ctx, page); err != nil {
		return nil, err
	}
	out := &listOutput{}
	out.Body.Tasks = taskViews(page.Tasks)
	if page.Next != 0 {
		cursor := encodeCursor(page.Next)
		out.Body.NextCursor = &cursor
	}
	return out, nil
}

// whole reads the long texts that a list cuts, until the page has maxListBytes of them; there it ends.
func (s *Server) whole(ctx context.Context, page models.Page) (models.Page, error) {
	size := 0
	for i := range page.Tasks {
		t := &page.Tasks[i]
		if t.Cut {
			task, err := s.ledger.Task(ctx, t.ID)
			if err != nil && !errors.Is(err, models.ErrNotFound) { // retention may have been here in between
				return models.Page{}, err
			}
			if err == nil {
				*t = task
			}
		}
		size += len(t.Params) + len(t.Result) + len(t.Error)
		if size > maxListBytes && i+1 < len(page.Tasks) {
			page.Next = max(page.Next, t.ID)
			page.Tasks = page.Tasks[:i+1]
			break
		}
	}
	return page, nil
}

type taskInput struct {
	ID int64 `path:"id" minimum:"1"`
}

type taskDetailOutput struct{ Body taskDetailJSON }

func (s *Server) getTask(ctx context.Context, in *taskInput) (*taskDetailOutput, error) {
	task, err := s.ledger.Task(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	attempts, err := s.ledger.Attempts(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &taskDetailOutput{Body: taskDetail(&task, attempts)}, nil
}

type logsInput struct {
	ID      int64 `path:"id" minimum:"1"`
	Attempt int   `query:"attempt" minimum:"0" maximum:"1000000000" doc:"Default: the latest"`
	After   int   `query:"after" minimum:"0" maximum:"1000000000" doc:"Only lines with a seq above this"`
	Limit   int   `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
}

// logLineJSON is one line of a task's log.
type logLineJSON struct {
	Seq   int    `json:"seq" doc:"Ascending from 1; a gap is where lines were left out"`
	At    moment `json:"at"`
	Level string `json:"level" enum:"debug,info,warn,error,stdout,stderr"`
	Text  string `json:"text"`
}

type logsOutput struct {
	Body taskLogJSON
}

// taskLogJSON is a part of the log of one attempt.
type taskLogJSON struct {
	Attempt   int           `json:"attempt"`
	Lines     []logLineJSON `json:"lines" nullable:"false"`
	NextAfter *int          `json:"next_after" doc:"null when there are no more lines now"`
}

func (s *Server) getLogs(ctx context.Context, in *logsInput) (*logsOutput, error) {
	task, err := s.ledger.Task(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := &logsOutput{}
	out.Body.Attempt = in.Attempt
	if in.Attempt == 0 {
		out.Body.Attempt = task.Attempt
	}
	lines, err := s.ledger.Logs(ctx, in.ID, out.Body.Attempt, in.After, in.Limit+1)
	if err != nil {
		return nil, err
	}
	if len(lines) > in.Limit {
		lines = lines[:in.Limit]
		out.Body.NextAfter = &lines[in.Limit-1].Seq
	}
	out.Body.Lines = make([]logLineJSON, 0, len(lines))
	for _, l := range lines {
		out.Body.Lines = append(out.Body.Lines, logLineJSON{l.Seq, moment(l.At), l.Level, l.Text})
	}
	return out, nil
}
