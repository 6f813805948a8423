package web

import (
	"context"

	"reax/models"
)

type logsInput struct {
	ID      int64 `path:"id" minimum:"1"`
	Attempt int   `query:"attempt" minimum:"0" maximum:"1000000000" doc:"Default: the latest"`
	After   int   `query:"after" minimum:"0" maximum:"1000000000" doc:"Only lines with a seq above this"`
	Limit   int   `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
	Follow  bool  `query:"follow" doc:"Answer with server-sent events that go on until the attempt ends: \"line\" with a line, then \"end\" with its number and the task's state. The same as Accept: text/event-stream"`
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
		out.Body.Lines = append(out.Body.Lines, logLine(&l))
	}
	return out, nil
}

func logLine(l *models.LogLine) logLineJSON { return logLineJSON{l.Seq, moment(l.At), l.Level, l.Text} }
