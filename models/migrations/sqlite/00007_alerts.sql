-- +goose Up
-- Rules that people made on the page; those of the configuration file are not stored.
CREATE TABLE alert_rules (
  name       TEXT PRIMARY KEY NOT NULL,
  spec       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  changed_at INTEGER NOT NULL,
  changed_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE alert_mutes (
  rule   TEXT PRIMARY KEY NOT NULL,
  until  INTEGER,
  reason TEXT,
  actor  TEXT NOT NULL,
  at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a rule found: first what may become an alert, then the alert, then its history.
CREATE TABLE alerts (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  rule        TEXT NOT NULL,
  kind        TEXT NOT NULL,
  key         TEXT NOT NULL,
  since       INTEGER NOT NULL,
  began_at    INTEGER,
  clear_since INTEGER,
  ended_at    INTEGER,
  told_at     INTEGER,
  told_to     TEXT,
  facts       TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX alerts_open ON alerts (rule, key) WHERE ended_at IS NULL;

-- +goose Down
DROP TABLE alerts;
DROP TABLE alert_mutes;
DROP TABLE alert_rules;
