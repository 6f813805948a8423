-- +goose Up
CREATE TABLE schedules (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  name          TEXT NOT NULL,
  owner         TEXT NOT NULL,
  task          TEXT NOT NULL,
  cron          TEXT,
  every_us      INTEGER,
  at            INTEGER,
  timezone      TEXT NOT NULL,
  priority      INTEGER,
  tags          TEXT,
  missed        TEXT NOT NULL,
  overlap       TEXT NOT NULL,
  paused        INTEGER NOT NULL DEFAULT 0,
  pause_reason  TEXT,
  paused_by     TEXT,
  paused_until  INTEGER,
  anchor        INTEGER,
  version       INTEGER NOT NULL,
  cursor_at     INTEGER NOT NULL,
  next_at       INTEGER,
  last_at       INTEGER,
  last_task_id  INTEGER,
  runs          INTEGER NOT NULL DEFAULT 0,
  missed_count  INTEGER NOT NULL DEFAULT 0,
  overlap_count INTEGER NOT NULL DEFAULT 0,
  error         TEXT,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  updated_by    TEXT,
  params        TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX schedules_name ON schedules (name);
-- What comes next. A paused schedule, one that has no more runs and one that is broken cost the scheduler nothing.
CREATE INDEX schedules_next ON schedules (next_at) WHERE next_at IS NOT NULL AND paused = 0;
CREATE INDEX schedules_paused_until ON schedules (paused_until) WHERE paused_until IS NOT NULL AND paused = 1;
CREATE INDEX schedules_error ON schedules (id) WHERE error IS NOT NULL;

-- What became of each instant of a schedule. The key is what makes one task of one instant.
CREATE TABLE occurrences (
  schedule_id INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  outcome     TEXT NOT NULL,
  task_id     INTEGER,
  late        INTEGER NOT NULL DEFAULT 0,
  blocked_by  INTEGER,
  note        TEXT,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (schedule_id, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX occurrences_queued ON occurrences (schedule_id) WHERE outcome = 'queued';

CREATE INDEX tasks_schedule ON tasks (schedule)
  WHERE schedule IS NOT NULL AND state IN ('pending', 'running', 'retry_wait');

-- +goose Down
DROP INDEX tasks_schedule;
DROP TABLE occurrences;
DROP TABLE schedules;
