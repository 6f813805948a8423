-- +goose Up
-- The page of the audit is in the order of the time.
CREATE INDEX audit_at ON audit (at);

-- Up to when the audit has been deleted, if it is not kept for ever. At most one row.
CREATE TABLE audit_horizons (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  kept_at INTEGER NOT NULL
) STRICT;

-- What is written is not changed, and not deleted but by age.
-- +goose StatementBegin
CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit
BEGIN
  SELECT RAISE(ABORT, 'the audit is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_kept BEFORE DELETE ON audit
WHEN OLD.at >= coalesce((SELECT kept_at FROM audit_horizons), 0)
BEGIN
  SELECT RAISE(ABORT, 'the audit is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_horizon_ascends BEFORE UPDATE ON audit_horizons WHEN NEW.kept_at < OLD.kept_at
BEGIN
  SELECT RAISE(ABORT, 'the audit is append-only');
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER audit_horizon_ascends;
DROP TRIGGER audit_kept;
DROP TRIGGER audit_unchanged;
DROP TABLE audit_horizons;
DROP INDEX audit_at;
