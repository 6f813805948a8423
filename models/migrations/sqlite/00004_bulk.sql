-- +goose Up
-- A bulk action: its plan, how far it is, what came of it. Its set stands apart, so that no step rewrites it.
CREATE TABLE bulk_runs (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  action      TEXT NOT NULL,
  state       TEXT NOT NULL,
  matched     INTEGER NOT NULL,
  done        INTEGER NOT NULL DEFAULT 0,
  skipped     INTEGER NOT NULL DEFAULT 0,
  spread_us   INTEGER NOT NULL DEFAULT 0,
  planned_at  INTEGER NOT NULL,
  started_at  INTEGER,
  finished_at INTEGER,
  actor       TEXT NOT NULL,
  stopped_by  TEXT,
  type        TEXT,
  reason      TEXT,
  patch       TEXT
) STRICT;
CREATE INDEX bulk_runs_open ON bulk_runs (state) WHERE state IN ('planned', 'running');

-- The frozen set of a bulk action: the highest id, and then by how much each id is below the one before it.
CREATE TABLE bulk_sets (
  run_id INTEGER PRIMARY KEY,
  ids    TEXT NOT NULL
) STRICT;

-- What a bulk action changed: the slice of the record that one task has of it. It goes with its task, and stays when the
-- bulk action itself is deleted.
CREATE TABLE bulk_tasks (
  task_id INTEGER NOT NULL,
  run_id  INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  before  TEXT NOT NULL,
  made    INTEGER,
  PRIMARY KEY (task_id, run_id)
) STRICT, WITHOUT ROWID;

-- What a bulk action left alone, and why; the first thousand of each.
CREATE TABLE bulk_skips (
  run_id  INTEGER NOT NULL,
  task_id INTEGER NOT NULL,
  code    TEXT NOT NULL,
  reason  TEXT NOT NULL,
  PRIMARY KEY (run_id, task_id)
) STRICT, WITHOUT ROWID;

-- What people know of a group of errors.
CREATE TABLE group_marks (
  type        TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  name        TEXT,
  note        TEXT,
  link        TEXT,
  muted       INTEGER NOT NULL DEFAULT 0,
  muted_until INTEGER,
  changed_by  TEXT NOT NULL,
  changed_at  INTEGER NOT NULL,
  PRIMARY KEY (type, fingerprint)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE group_marks;
DROP TABLE bulk_skips;
DROP TABLE bulk_tasks;
DROP TABLE bulk_sets;
DROP TABLE bulk_runs;
