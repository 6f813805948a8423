package models

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// SchedulePage gives up to limit schedules whose names come after one, by name: all of them, or those with text in their
// name or task type.
func (s *Store) SchedulePage(ctx context.Context, text, after string, limit int) ([]Schedule, error) {
	where, args := "name > ?", []any{after}
	if text != "" {
		like := "%" + likeEscaper.Replace(CutText(text, textLimit)) + "%"
		where, args = where+` AND (name LIKE ? ESCAPE '\' OR task LIKE ? ESCAPE '\')`, append(args, like, like)
	}
	return s.schedulesWhere(ctx, where+" ORDER BY name LIMIT ?", append(args, max(limit, 0))...)
}

// TaskStates gives the states of tasks by their ids. A task that is not there any more has none.
func (s *Store) TaskStates(ctx context.Context, ids []int64) (map[int64]State, error) {
	states := make(map[int64]State, len(ids))
	if len(ids) == 0 {
		return states, nil
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("writing the ids of tasks: %w", err)
	}
	keep := func(rows *sql.Rows) (_ struct{}, err error) {
		var id int64
		var state State
		err = rows.Scan(&id, &state)
		states[id] = state
		return struct{}{}, err
	}
	_, err = collect(s.reader.WithContext(ctx), keep,
		"SELECT t.id, t.state FROM json_each(?) AS e CROSS JOIN tasks AS t ON t.id = e.value", string(text))
	if err != nil {
		return nil, fmt.Errorf("reading the states of tasks: %w", err)
	}
	return states, nil
}
