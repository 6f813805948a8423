-- +goose Up
CREATE TABLE users (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT NOT NULL,
  name_key    TEXT NOT NULL,
  role        TEXT NOT NULL,
  password    TEXT NOT NULL,
  disabled    INTEGER NOT NULL DEFAULT 0,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  password_at INTEGER NOT NULL,
  seen_at     INTEGER
) STRICT;
CREATE UNIQUE INDEX users_name ON users (name_key);

CREATE TABLE sessions (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  hash       TEXT NOT NULL,
  user_id    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,
  ends_at    INTEGER NOT NULL,
  address    TEXT,
  agent      TEXT
) STRICT;
CREATE UNIQUE INDEX sessions_hash ON sessions (hash);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_seen ON sessions (seen_at);

CREATE TABLE api_tokens (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL,
  hash       TEXT NOT NULL,
  prefix     TEXT NOT NULL,
  role       TEXT NOT NULL,
  types      TEXT,
  user_id    INTEGER,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  used_at    INTEGER,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT;
CREATE UNIQUE INDEX api_tokens_hash ON api_tokens (hash);
-- The name of a revoked token may be given to another one.
CREATE UNIQUE INDEX api_tokens_name ON api_tokens (name) WHERE revoked_at IS NULL;
CREATE INDEX api_tokens_user ON api_tokens (user_id) WHERE user_id IS NOT NULL;

-- +goose Down
DROP TABLE api_tokens;
DROP TABLE sessions;
DROP TABLE users;
