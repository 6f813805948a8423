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
	Sort   string `query:"sort" enum:"-changed,changed,priority,-priority,-duration,duration" doc:"Instead of newest first: by the latest change, by priority (1 first, and of one priority the oldest first), or by how long the latest run took, or takes while it runs. A minus sign turns it round. The newest tasks that match are sorted, up to 5,000; sorted_among says when there may be more"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before, with the same sort"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
}

type listOutput struct {
	Body taskListJSON
}

// taskListJSON is one page of tasks.
type taskListJSON struct {
	Tasks       []TaskJSON `json:"tasks" nullable:"false"`
	NextCursor  *string    `json:"next_cursor" doc:"null on the last page. A page of large tasks, or of a search that takes long, may have fewer tasks than the limit, even none, and still not be the last"`
	SortedAmong *int       `json:"sorted_among,omitempty" doc:"Only there with sort, and when not all that match may have been sorted: how many of the newest were. Tasks that are not among them are on no page"`
}

func (s *Server) listTasks(ctx context.Context, in *listInput) (*listOutput, error) {
	f, faults := in.filter(func(field string) string { return "query." + field })
	f.Order = models.Order(in.Sort)
	if in.Cursor != "" {
		if err := readCursor(in.Cursor, &f); err != nil {
			faults = append(faults, wrongBy("query.cursor", err))
		}
	}
	if len(faults) > 0 {
		return nil, invalid(faults)
	}
	who := callerOf(ctx)
	if err := who.scoped(&f); err != nil {
		return nil, err
	}
	page, err := s.ledger.List(ctx, f, in.Limit)
	if err != nil {
		return nil, err
	}
	if page, err = s.whole(ctx, page); err != nil {
		return nil, err
	}
	out := &listOutput{}
	out.Body.Tasks = s.taskViews(page.Tasks)
	if cursor := nextCursor(f, &page); cursor != "" {
		out.Body.NextCursor = &cursor
	}
	if page.Partial {
		out.Body.SortedAmong = &page.Among
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
			page.Keep(i + 1)
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
	return &taskDetailOutput{Body: s.taskDetail(&task, attempts)}, nil
}
