-- +goose Up
-- What an operator tells the readers of the status page. One that has not ended, and of which nobody knows when it will,
-- has no ends_at; planned work has the end that is planned.
CREATE TABLE incidents (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  kind       TEXT NOT NULL,
  title      TEXT NOT NULL,
  severity   TEXT,
  state      TEXT NOT NULL,
  affected   TEXT,
  begins_at  INTEGER NOT NULL,
  ends_at    INTEGER,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX incidents_ends ON incidents (ends_at);

CREATE TABLE incident_updates (
  id          INTEGER PRIMARY KEY,
  incident_id INTEGER NOT NULL REFERENCES incidents (id) ON DELETE CASCADE,
  at          INTEGER NOT NULL,
  state       TEXT NOT NULL,
  text        TEXT,
  actor       TEXT NOT NULL
) STRICT;
CREATE INDEX incident_updates_of ON incident_updates (incident_id, id);

-- A type and day, gathered from minute_stats. day is the instant at which it begins in the zone of the status page, and
-- counted_to is up to when it has been gathered.
CREATE TABLE day_stats (
  day        INTEGER NOT NULL,
  type       TEXT NOT NULL,
  succeeded  INTEGER NOT NULL,
  failed     INTEGER NOT NULL,
  slow       INTEGER NOT NULL,
  counted_to INTEGER NOT NULL,
  PRIMARY KEY (day, type)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE day_stats;
DROP TABLE incident_updates;
DROP TABLE incidents;
