-- +goose Up
-- The history of a schedule, which its page leads to: a daily task is far apart from the next in a table of millions. Only
-- tasks that a schedule made are in it, and it does not change with their states.
CREATE INDEX tasks_of_schedule ON tasks (schedule) WHERE schedule IS NOT NULL;

-- +goose Down
DROP INDEX tasks_of_schedule;
