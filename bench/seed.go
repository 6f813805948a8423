package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"reax/models"
)

// seedSpan is over how long the tasks of a seeded file were made, evenly.
const seedSpan = 7 * 24 * time.Hour

// seedStep is how many tasks one statement makes.
const seedStep = 100_000

// seedTypes are the task types of a seeded file. Those of loadTypes also get the load; what waits of pausedTypes
// goes on waiting.
var seedTypes = []string{
	"report.generate", "report.export", "notify.push", "notify.sms", "mail.send", "sync.crm", "sync.stock", "sync.price", "reconcile.bank",
	"reconcile.card", "invoice.issue", "invoice.remind", "image.resize", "video.thumbnail", "search.index", "cache.warm", "cleanup.files",
	"backup.copy", "billing.close", "audit.archive",
}

var (
	loadTypes   = seedTypes[2:8]
	pausedTypes = seedTypes[17:20]
)

// seedErrors are what fails, with numbers in the place of # and a service in that of @: 60 fingerprints a type.
var (
	seedErrors = []string{
		"connection refused: dial tcp 10.0.0.#:5432: service @ is down", "timeout after # ms while calling @", "HTTP 503 from @, request #: upstream is overloaded",
		"HTTP 404 from @: record # does not exist", "deadlock found in @ when updating row #", "invalid amount # in a line of @",
		"disk quota of @ exceeded by # bytes", "certificate of @ expired # days ago", "unexpected end of file of @ at byte #", "rate limit of @ reached, # calls left over",
	}
	seedServices = []string{"ledger", "warehouse", "gateway", "directory", "archive", "pricing"}
)

// hash makes a number below n out of x, which is made of a task's id: the same at every seeding. The product keeps the
// numbers of one task from hanging together.
func hash(salt, n int) string {
	return fmt.Sprintf("((x / 65536 + %d) * (x %% 65536 + %d) %% 1000003 %% %d)", salt*7_919, salt*31_337, n)
}

// seedRows makes the tasks of the ids after ?1 up to ?2 of ?3 in all; ?4 is now, ?5 the span in microseconds. One in 50
// has parameters of 3 KB.
var seedRows = fmt.Sprintf(`
WITH RECURSIVE ids(id) AS (SELECT ?1 + 1 UNION ALL SELECT id + 1 FROM ids WHERE id < ?2),
dice AS MATERIALIZED (SELECT id, ?4 - ?5 + CAST(?5 * (id * 1.0 / ?3) AS INTEGER) AS at, %s AS fate, %s AS typ, %s AS a, %s AS b, %s AS c, %s AS d
	FROM (SELECT id, id * 2654435761 %% 4294967296 AS x FROM ids)),
made AS MATERIALIZED (SELECT *, iif(fate >= 9850, 17 + typ %% 3, typ) AS kind, CASE WHEN fate < 9250 THEN 'success' WHEN fate < 9500 THEN 'dead' WHEN fate < 9650 THEN 'failed'
	WHEN fate < 9750 THEN 'cancelled' WHEN fate < 9800 THEN 'retry_wait' ELSE 'pending' END AS state FROM dice)
INSERT INTO tasks (id, type, state, priority, attempt, failures, max_retries, timeout_us, run_at, ready_at, created_at, started_at, finished_at,
	updated_at, suspected, trace_id, unique_key, worker, boot_id, enqueued_by, schedule, scheduled_for, error_kind, fingerprint, tags, error, result, params)
SELECT m.id, t.name, state, 1 + a %% 10,
	CASE WHEN state = 'dead' THEN 4 WHEN state IN ('pending', 'cancelled') THEN 0 WHEN fate < 300 THEN 2 ELSE 1 END,
	CASE WHEN state = 'dead' THEN 4 WHEN state IN ('failed', 'retry_wait') OR fate < 300 THEN 1 ELSE 0 END, 3, 60000000,
	CASE WHEN state = 'retry_wait' OR fate BETWEEN 9800 AND 9849 THEN ?4 + 3600000000 * (1 + b %% 48) ELSE at END,
	iif(fate >= 9850, at, NULL), at, iif(state IN ('pending', 'cancelled'), NULL, at + 5000 + b),
	iif(state = 'pending', NULL, at + 90000 + b * 9), at + 90000 + b * 9, iif(fate = 400, 'the process died while run 1 was on', NULL),
	printf('%%012x%%020x', at / 1000, m.id * 2654435761), iif(c %% 20 = 0, 'key-' || m.id, NULL), iif(state = 'pending', NULL, 'worker-' || (b %% 8 + 1)),
	iif(state = 'pending', NULL, 'seed'), CASE c %% 3 WHEN 0 THEN 'api' WHEN 1 THEN 'dashboard' ELSE 'schedule' END,
	iif(c %% 25 = 1, 'plan-' || (d %% 40), NULL), iif(c %% 25 = 1, at, NULL), e.kind, e.fingerprint,
	CASE WHEN d < 2 THEN '["rare"]' WHEN d %% 3 = 0 THEN '["nightly","team-' || (d %% 7) || '"]' END,
	replace(e.message, '#', b %% 997), iif(state = 'success' AND a %% 2 = 0, '{"rows":' || b || ',"ok":true}', NULL),
	'{"customer":{"id":' || ((b * 61 + c) %% 50000) || ',"region":"' || CASE a %% 4 WHEN 0 THEN 'eu' WHEN 1 THEN 'us' WHEN 2 THEN 'cn' ELSE 'in' END
		|| '"},"order":"A-' || m.id || '","date":"2026-11-' || (10 + a %% 20) || iif(d %% 50 = 7, '","note":"' || printf('%%.3000c', 'x'), '') || '"}'
FROM made m JOIN temp.types t ON t.n = m.kind
LEFT JOIN temp.errors e ON state IN ('dead', 'failed', 'retry_wait') AND e.typ = m.kind AND e.n = (d %% 60) * (d %% 60) / 60`,
	hash(1, 10_000), hash(2, 20), hash(3, 60_000), hash(4, 60_000), hash(5, 60_000), hash(6, 60_000))

// seedRest is what stands beside the tasks.
var seedRest = []struct{ what, sql string }{
	{"attempts", `INSERT INTO attempts (task_id, attempt, outcome, error_kind, fingerprint, worker, boot_id, started_at, finished_at, retry_at, retry_rule, error, stack)
SELECT t.id, k.value, CASE WHEN k.value < attempt OR state = 'retry_wait' THEN 'retry' ELSE state END, error_kind, fingerprint, worker, boot_id,
	started_at - (attempt - k.value) * 20000000, started_at - (attempt - k.value) * 20000000 + 80000,
	iif(k.value < attempt, started_at - (attempt - k.value - 1) * 20000000, NULL), iif(k.value < attempt, '10 s * 2^' || (k.value - 1), NULL), error,
	iif(k.value = attempt AND state = 'dead', 'goroutine 1 [running]:' || char(10) || 'main.work(...)', NULL)
FROM tasks t JOIN json_each('[1,2,3,4]') k ON k.value <= attempt WHERE state IN ('dead', 'failed', 'retry_wait') OR attempt > 1 AND state = 'success'`},
	{"log lines", `INSERT INTO task_logs (task_id, attempt, seq, at, level, text)
SELECT t.id, attempt, k.value, started_at + k.value * 1000, 'info', 'step ' || k.value || ' of 6 of order A-' || t.id
FROM tasks t JOIN json_each('[1,2,3,4,5,6]') k WHERE t.id % 40 = 0 AND started_at IS NOT NULL ORDER BY t.id, k.value`},
	{"counts", `INSERT INTO counts (type, state, n) SELECT type, state, count(*) FROM tasks GROUP BY type, state
UNION ALL SELECT type, 'ready', count(*) FROM tasks WHERE ready_at IS NOT NULL AND state IN ('pending', 'retry_wait') GROUP BY type
ON CONFLICT DO UPDATE SET n = excluded.n`},
	{"error groups", `INSERT INTO error_groups (type, fingerprint, kind, message, n, first_at, last_at)
SELECT t.type, t.fingerprint, min(e.kind), min(e.normal), count(*), min(t.finished_at), max(t.finished_at)
FROM tasks t JOIN temp.errors e ON e.fingerprint = t.fingerprint WHERE t.state IN ('failed', 'dead') GROUP BY t.type, t.fingerprint`},
	{"audit entries", `INSERT INTO audit (at, actor, action, target, target_id, reason)
SELECT updated_at, 'token:ops', CASE id % 3 WHEN 0 THEN 'retry' WHEN 1 THEN 'cancel' ELSE 'discard' END, 'task', CAST(id AS TEXT), 'seen in the morning'
FROM tasks WHERE state IN ('dead', 'cancelled') AND id % 5 = 0
UNION ALL SELECT updated_at, 'token:ops', iif(id % 2, 'pause', 'resume'), 'type', type, 'maintenance' FROM tasks WHERE id % 5000 = 0`},
	{"occurrences", `INSERT INTO occurrences (schedule_id, at, outcome, task_id, created_at)
SELECT s.id, t.scheduled_for, 'enqueued', t.id, t.created_at FROM tasks t JOIN schedules s ON s.name = t.schedule WHERE t.id % 17 = 0
ON CONFLICT DO NOTHING`},
}

// seedMinutes makes the statistics of the span: ?1 is the last minute, ?2 how many minutes, ?3 the tasks of a type and minute.
const seedMinutes = `WITH RECURSIVE minutes(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM minutes WHERE k + 1 < ?2)
INSERT INTO minute_stats (minute, type, enqueued, started, succeeded, retried, failed, dead, cancelled, promoted, wait_hist, run_hist)
SELECT ?1 - k * 60000000, name, ?3, ?3, ?3 * 95 / 100 + 1, k % 3, k % 2, k % 5 = 0, k % 7 = 0, 0,
	'[0,0,0,' || ?3 || ',' || (k % 9) || ',3,1]', '[0,0,0,0,0,0,0,0,0,0,0,' || ?3 || ',' || (k % 7) || ',2,1,1]'
FROM minutes, temp.types WHERE true ON CONFLICT DO NOTHING`

// seed fills an empty ledger, which nobody else has open, with n tasks and what stands beside them. It writes without a log:
// a crash meanwhile leaves no file to use.
func seed(ctx context.Context, path string, n int) (err error) {
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal=OFF&_synchronous=OFF&_cache_size=-1048576")
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // the names stand in tables of the connection
	exec := func(what, sql string, args ...any) error {
		if _, err := db.ExecContext(ctx, sql, args...); err != nil {
			return fmt.Errorf("seeding %s: %w", what, err)
		}
		return nil
	}
	if err := seedNames(exec); err != nil {
		return err
	}
	// Indexes that are made at the end are sorted once.
	const every = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('tasks', 'attempts')"
	indexes, err := readIndexes(ctx, db, every)
	if err != nil {
		return fmt.Errorf("reading the indexes: %w", err)
	}
	for _, index := range indexes {
		if err := exec("without indexes", "DROP INDEX "+index.Name); err != nil {
			return err
		}
	}
	began, now := time.Now(), models.At(time.Now())
	for from := 0; from < n; from += seedStep {
		if err := exec("tasks", seedRows, from, min(from+seedStep, n), n, int64(now), seedSpan.Microseconds()); err != nil {
			return err
		}
	}
	fmt.Printf("%d tasks after %.0f s", n, time.Since(began).Seconds())
	for _, index := range indexes {
		if err := exec(index.Name, index.SQL); err != nil {
			return err
		}
	}
	fmt.Printf(", indexes after %.0f s", time.Since(began).Seconds())
	for _, rest := range seedRest {
		if err := exec(rest.what, rest.sql); err != nil {
			return err
		}
	}
	minutes, minute := int(seedSpan/time.Minute), models.Instant(time.Minute.Microseconds())
	if err := exec("statistics", seedMinutes, int64(now-now%minute), minutes, max(n/minutes/len(seedTypes), 1)); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	fmt.Printf(", all after %.0f s: %d MB\n", time.Since(began).Seconds(), info.Size()>>20)
	return nil
}

type seedIndex struct{ Name, SQL string }

func readIndexes(ctx context.Context, db *sql.DB, query string) (all []seedIndex, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var i seedIndex
		if err := rows.Scan(&i.Name, &i.SQL); err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	return all, rows.Err()
}

// seedNames makes the tables that number the types and the errors.
func seedNames(exec func(what, sql string, args ...any) error) error {
	type message struct {
		Typ, N                             int
		Kind, Message, Normal, Fingerprint string
	}
	var messages []message
	for t, typ := range seedTypes {
		for i := range len(seedErrors) * len(seedServices) {
			m := message{Typ: t, N: i, Kind: []string{"error", "timeout", "permanent"}[i%3]}
			m.Message = strings.ReplaceAll(seedErrors[i%len(seedErrors)], "@", seedServices[i/len(seedErrors)])
			example := strings.ReplaceAll(m.Message, "#", "42")
			m.Normal, m.Fingerprint = models.NormaliseMessage(example), models.Fingerprint(typ, m.Kind, example)
			messages = append(messages, m)
		}
	}
	errors, err := json.Marshal(messages)
	if err != nil {
		return err
	}
	types, err := json.Marshal(seedTypes)
	if err != nil {
		return err
	}
	if err := exec("types", "CREATE TEMP TABLE types AS SELECT key AS n, value AS name FROM json_each(?)", string(types)); err != nil {
		return err
	}
	err = exec("errors", `CREATE TEMP TABLE errors AS SELECT value->>'Typ' AS typ, value->>'N' AS n, value->>'Kind' AS kind, value->>'Message' AS message,
 value->>'Normal' AS normal, value->>'Fingerprint' AS fingerprint FROM json_each(?)`, string(errors))
	if err != nil {
		return err
	}
	return exec("errors", "CREATE INDEX temp.errors_typ ON errors (typ, n); CREATE INDEX temp.errors_fingerprint ON errors (fingerprint)")
}
