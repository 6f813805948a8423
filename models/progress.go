package models

// ProgressNote is how far a run says it is.
type ProgressNote struct {
	ID      int64
	Attempt int
	Percent int
	Note    string
}

// SaveProgress writes what running tasks say of their progress. Runs that ended meanwhile are left alone.
func (tx *Tx) SaveProgress(notes []ProgressNote) error {
	rows := make([][]any, len(notes))
	for i, n := range notes {
		rows[i] = []any{n.ID, n.Attempt, n.Percent, textOrNull(n.Note)}
	}
	_, err := tx.exec("writing progress", `UPDATE tasks SET progress = o.percent, progress_note = o.note, updated_at = ?1
FROM (SELECT value->>0 AS id, value->>1 AS attempt, value->>2 AS percent, value->>3 AS note FROM json_each(?2)) AS o
WHERE tasks.id = o.id AND tasks.attempt = o.attempt AND +tasks.state = 'running'`, int64(tx.now), list(rows))
	return err
}

// AppendLogs stores lines of task logs. A line that is there already is left as it is.
func (tx *Tx) AppendLogs(lines []LogLine) error {
	rows := make([][]any, len(lines))
	for i, l := range lines {
		rows[i] = []any{l.TaskID, l.Attempt, l.Seq, int64(l.At), l.Level, l.Text}
	}
	_, err := tx.exec("writing task logs", `INSERT INTO task_logs (task_id, attempt, seq, at, level, text)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM json_each(?) WHERE true
ON CONFLICT DO NOTHING`, list(rows))
	return err
}
