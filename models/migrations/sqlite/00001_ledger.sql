-- +goose Up
CREATE TABLE tasks (
  id                  INTEGER PRIMARY KEY AUTOINCREMENT,
  type                TEXT NOT NULL,
  state               TEXT NOT NULL,
  priority            INTEGER NOT NULL,
  attempt             INTEGER NOT NULL DEFAULT 0,
  claimed_retry       INTEGER NOT NULL DEFAULT 0,
  failures            INTEGER NOT NULL DEFAULT 0,
  crashes             INTEGER NOT NULL DEFAULT 0,
  max_retries         INTEGER NOT NULL,
  timeout_us          INTEGER NOT NULL DEFAULT 0,
  run_at              INTEGER NOT NULL,
  ready_at            INTEGER,
  promoted_at         INTEGER,
  created_at          INTEGER NOT NULL,
  started_at          INTEGER,
  finished_at         INTEGER,
  updated_at          INTEGER NOT NULL,
  cancel_requested_at INTEGER,
  stuck_at            INTEGER,
  suspected           TEXT,
  progress            INTEGER,
  progress_note       TEXT,
  trace_id            TEXT NOT NULL,
  unique_key          TEXT,
  worker              TEXT,
  boot_id             TEXT,
  enqueued_by         TEXT,
  schedule            TEXT,
  scheduled_for       INTEGER,
  repeated_from       INTEGER,
  error_kind          TEXT,
  fingerprint         TEXT,
  tags                TEXT,
  error               TEXT,
  result              TEXT,
  params              TEXT NOT NULL
) STRICT;

-- Every index ends with the id, which SQLite adds itself: naming it stores it twice. The first one names it all the same,
-- to have two more columns after it: the queue then fills its window without reading one row of the table.
-- What may run now, in the order of the queue's lanes. A task that still waits for its time has no ready_at, so a
-- million tasks for next month cost the queue nothing.
CREATE INDEX tasks_ready ON tasks (type, priority, ready_at, id, crashes, attempt)
  WHERE ready_at IS NOT NULL AND state IN ('pending', 'retry_wait');
-- What waits for its time, soonest first.
CREATE INDEX tasks_due ON tasks (run_at)
  WHERE ready_at IS NULL AND state IN ('pending', 'retry_wait');
-- Every list by state, by type or by both merges ranges of these two, each in the order of the id. They are partial, as
-- SQLite would otherwise take one on the state for every query that names a state.
CREATE INDEX tasks_state ON tasks (state, type) WHERE state <> 'success';
CREATE INDEX tasks_success ON tasks (type) WHERE state = 'success';
CREATE INDEX tasks_trace ON tasks (trace_id);
-- Most tasks have neither a key nor a suspicion, and cost these two nothing.
CREATE INDEX tasks_key ON tasks (unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX tasks_suspected ON tasks (id) WHERE suspected IS NOT NULL;
-- The failed and dead tasks of one error.
CREATE INDEX tasks_error ON tasks (type, fingerprint) WHERE fingerprint IS NOT NULL AND state IN ('failed', 'dead');
CREATE UNIQUE INDEX tasks_unique_key ON tasks (unique_key)
  WHERE unique_key IS NOT NULL AND state IN ('pending', 'running', 'retry_wait');

CREATE TABLE attempts (
  id          INTEGER PRIMARY KEY,
  task_id     INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,
  outcome     TEXT NOT NULL,
  error_kind  TEXT,
  fingerprint TEXT,
  worker      TEXT,
  boot_id     TEXT,
  started_at  INTEGER,
  finished_at INTEGER,
  retry_at    INTEGER,
  retry_rule  TEXT,
  error       TEXT,
  stack       TEXT
) STRICT;
CREATE UNIQUE INDEX attempts_task ON attempts (task_id, attempt);

CREATE TABLE task_logs (
  task_id INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  seq     INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  level   TEXT NOT NULL,
  text    TEXT NOT NULL,
  PRIMARY KEY (task_id, attempt, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE type_settings (
  type        TEXT PRIMARY KEY,
  paused      INTEGER NOT NULL DEFAULT 0,
  concurrency INTEGER NOT NULL DEFAULT 0,
  reason      TEXT,
  changed_by  TEXT,
  changed_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counts (
  type  TEXT NOT NULL,
  state TEXT NOT NULL,
  n     INTEGER NOT NULL,
  PRIMARY KEY (type, state)
) STRICT, WITHOUT ROWID;

-- Failed and dead tasks by type and error, counted as counts is: in the transaction of each change.
CREATE TABLE error_groups (
  type        TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  kind        TEXT NOT NULL,
  message     TEXT NOT NULL,
  n           INTEGER NOT NULL,
  first_at    INTEGER NOT NULL,
  last_at     INTEGER NOT NULL,
  PRIMARY KEY (type, fingerprint)
) STRICT, WITHOUT ROWID;
CREATE INDEX error_groups_open ON error_groups (last_at) WHERE n > 0;

-- One row a type and minute. The histograms are JSON arrays of bucket counts; models/stats.go names the bounds.
CREATE TABLE minute_stats (
  minute    INTEGER NOT NULL,
  type      TEXT NOT NULL,
  enqueued  INTEGER NOT NULL DEFAULT 0,
  started   INTEGER NOT NULL DEFAULT 0,
  succeeded INTEGER NOT NULL DEFAULT 0,
  retried   INTEGER NOT NULL DEFAULT 0,
  failed    INTEGER NOT NULL DEFAULT 0,
  dead      INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  promoted  INTEGER NOT NULL DEFAULT 0,
  wait_hist TEXT NOT NULL,
  run_hist  TEXT NOT NULL,
  PRIMARY KEY (minute, type)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  actor      TEXT NOT NULL,
  action     TEXT NOT NULL,
  target     TEXT NOT NULL,
  target_id  TEXT NOT NULL,
  reason     TEXT,
  before     TEXT,
  after      TEXT,
  address    TEXT,
  request_id TEXT
) STRICT;
CREATE INDEX audit_target ON audit (target, target_id);

CREATE TABLE boots (
  id         TEXT PRIMARY KEY,
  started_at INTEGER NOT NULL,
  stopped_at INTEGER,
  host       TEXT NOT NULL,
  pid        INTEGER NOT NULL,
  version    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE boots;
DROP TABLE audit;
DROP TABLE minute_stats;
DROP TABLE error_groups;
DROP TABLE counts;
DROP TABLE type_settings;
DROP TABLE task_logs;
DROP TABLE attempts;
DROP TABLE tasks;
