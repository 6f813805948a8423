-- +goose Up
-- The copies of a task, for its trace. Most tasks are none, and cost it nothing.
CREATE INDEX tasks_repeated ON tasks (repeated_from) WHERE repeated_from IS NOT NULL;

-- +goose Down
DROP INDEX tasks_repeated;
