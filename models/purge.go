package models

import "fmt"

// Purge deletes finished tasks with their history and logs. Tasks that are not finished are left alone.
func (tx *Tx) Purge(ids []int64) (int64, error) {
	var doomed []Task
	err := tx.db.Raw(`SELECT id, type, state, fingerprint FROM tasks WHERE id IN (SELECT value FROM json_each(?))
 AND +state IN ('success', 'failed', 'dead', 'cancelled')`, list(ids)).Scan(&doomed).Error
	if err != nil {
		return 0, fmt.Errorf("looking for old tasks: %w", err)
	}
	if len(doomed) == 0 {
		return 0, nil
	}
	ids = make([]int64, len(doomed))
	for i := range doomed {
		ids[i] = doomed[i].ID
		tx.ungrouped(doomed[i].Type, doomed[i].State, doomed[i].Fingerprint)
		tx.moved(doomed[i].Type, doomed[i].State, "")
	}
	for _, where := range []string{"task_logs WHERE task_id", "attempts WHERE task_id", "bulk_tasks WHERE task_id", "tasks WHERE id"} {
		if _, err := tx.exec("deleting old tasks", "DELETE FROM "+where+" IN (SELECT value FROM json_each(?))", list(ids)); err != nil {
			return 0, err
		}
	}
	return int64(len(doomed)), nil
}

// PurgeMinutes deletes the minute statistics from before an instant.
func (tx *Tx) PurgeMinutes(before Instant) error {
	_, err := tx.exec("deleting old statistics", "DELETE FROM minute_stats WHERE minute < ?", int64(before))
	return err
}

// Boot notes the start of this process.
func (tx *Tx) Boot(b Boot) error {
	_, err := tx.exec("noting the start of the process", `INSERT INTO boots (id, started_at, host, pid, version)
 VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, b.ID, int64(b.StartedAt), b.Host, b.PID, b.Version)
	return err
}

// Leave notes that this process stopped in good order.
func (tx *Tx) Leave() error {
	_, err := tx.exec("noting the end of the process", "UPDATE boots SET stopped_at = ? WHERE id = ?", int64(tx.now), tx.w.bootID)
	return err
}
