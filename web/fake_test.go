package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

// fake is a runtime and a ledger in memory. It does just enough for the handlers to have something to say.
type fake struct {
	registry *tasks.Registry

	mu       sync.Mutex
	store    *models.Store // whose lists it gives, if not nil
	rows     []models.Task
	attempts []models.Attempt
	logs     []models.LogLine
	counts   []models.Count
	minutes  []models.MinuteStat
	health   actors.Health
	paused   map[string]actors.Change
	sizes    map[string]int
	err      error // what every change gives, if not nil
	readErr  error // what every read gives, if not nil
	enqueues []actors.EnqueueRequest
	changes  []actors.Change
	repeats  []json.RawMessage
	bulks    []actors.BulkRequest
	gone     atomic.Bool      // who asked is signed out
	block    bool             // changes wait for the end of their context
	subs     []func([]string) // who listens; nil where one has ended

	boots   []models.Boot
	marks   []models.AuditMark
	workers []actors.TreeRow
	gauges  []actors.Gauge
	figures actors.Figures
	retryAt models.Instant
	groups  []models.ErrorGroup
	reads   atomic.Int64 // of the minutes

	audit  []models.Audit // oldest first
	why    actors.Why
	whyErr error

	fakeDead
	fakeAlerts

	schedules   []models.Schedule
	occurrences []models.Occurrence // newest first
	specs       []actors.ScheduleSpec
	patches     []actors.SchedulePatch
	untils      []time.Time
}

type reportParams struct {
	UserID int64  `json:"user_id" jsonschema:"required,minimum=1"`
	Date   string `json:"date,omitempty"`
}

const start = models.Instant(1_767_225_600_123_456) // 2026-01-01T00:00:00.123456Z

func newFake(t testing.TB) *fake {
	t.Helper()
	r := tasks.NewRegistry()
	tasks.Register(r, "report.generate", func(context.Context, reportParams) (any, error) { return nil, nil },
		tasks.Describe("Writes a report"), tasks.Timeout(2*time.Minute))
	require.NoError(t, r.Add(tasks.Definition{
		Name: "any", Kind: tasks.KindGo, Schema: tasks.AnyObject(), Policy: tasks.DefaultPolicy(),
		Handler: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil },
	}))
	require.NoError(t, r.Err())
	return &fake{
		registry: r, paused: map[string]actors.Change{}, sizes: map[string]int{},
		health: actors.Health{
			Status: actors.StatusOK, Backlog: 3, OldestWait: 1500 * time.Millisecond, WorkersBusy: 1, WorkersTotal: 8,
			SuccessRate5m: 0.75, Finished5m: 4, DatabaseOK: true,
		},
	}
}

// add stores a task as a test needs it.
func (f *fake) add(t models.Task) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.insert(t)
}

func (f *fake) insert(t models.Task) int64 {
	t.ID = int64(len(f.rows) + 1)
	if t.Type == "" {
		t.Type = "any"
	}
	if t.State == "" {
		t.State = models.StatePending
	}
	if t.Params == "" {
		t.Params = "{}"
	}
	t.TraceID = fmt.Sprintf("%032x", t.ID)
	t.CreatedAt, t.UpdatedAt, t.RunAt = start, start, start
	f.rows = append(f.rows, t)
	return t.ID
}

func (f *fake) stored() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.rows)
}

func (f *fake) begin(ctx context.Context) error {
	if f.block {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.err
}

func (f *fake) Enqueue(ctx context.Context, req actors.EnqueueRequest) (actors.Enqueued, error) {
	if err := f.begin(ctx); err != nil {
		return actors.Enqueued{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.enqueue(req)
}

func (f *fake) enqueue(req actors.EnqueueRequest) (actors.Enqueued, error) {
	d, ok := f.registry.Lookup(req.Type)
	if !ok {
		return actors.Enqueued{}, actors.ErrUnknownType
	}
	if len(req.Params) > actors.MaxParamsBytes {
		return actors.Enqueued{}, &actors.TooLargeError{What: "params", Limit: actors.MaxParamsBytes}
	}
	if bad, ok := errors.AsType[*tasks.InvalidError](d.Schema.Check(req.Params)); ok {
		for i := range bad.Fields {
			bad.Fields[i].Location = "/params" + bad.Fields[i].Location
		}
		return actors.Enqueued{}, bad
	}
	for _, row := range f.rows {
		if req.UniqueKey != "" && row.UniqueKey == req.UniqueKey {
			return actors.Enqueued{Task: row, Duplicate: true}, nil
		}
	}
	f.enqueues = append(f.enqueues, req)
	tags, _ := json.Marshal(req.Tags)
	id := f.insert(models.Task{
		Type: req.Type, Params: string(req.Params), UniqueKey: req.UniqueKey, Tags: string(tags), EnqueuedBy: req.By,
		Priority: max(req.Priority, 1),
	})
	return actors.Enqueued{Task: f.rows[id-1]}, nil
}

func (f *fake) EnqueueBatch(ctx context.Context, reqs []actors.EnqueueRequest) ([]actors.Enqueued, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before := slices.Clone(f.rows)
	var all []actors.Enqueued
	bad := map[int]error{}
	for i, req := range reqs {
		e, err := f.enqueue(req)
		if err != nil {
			bad[i] = err
		}
		all = append(all, e)
	}
	if len(bad) > 0 {
		f.rows = before
		return nil, &actors.BatchError{Errors: bad}
	}
	return all, nil
}

func (f *fake) change(ctx context.Context, id int64, action string, to models.State, c actors.Change) (models.Task, error) {
	if err := f.begin(ctx); err != nil {
		return models.Task{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if id > int64(len(f.rows)) {
		return models.Task{}, models.ErrNotFound
	}
	row := &f.rows[id-1]
	runNow := action == "retry" && row.State == models.StatePending && row.ReadyAt == 0 && row.RunAt > models.At(time.Now())
	if !row.State.CanBecome(to) && !runNow {
		return models.Task{}, &models.StateError{ID: id, State: row.State, Action: action}
	}
	row.State = to
	f.changes = append(f.changes, c)
	return *row, nil
}

func (f *fake) Retry(ctx context.Context, id int64, c actors.Change) (models.Task, error) {
	return f.change(ctx, id, "retry", models.StatePending, c)
}

func (f *fake) Cancel(ctx context.Context, id int64, c actors.Change) (models.Task, error) {
	return f.change(ctx, id, "cancel", models.StateCancelled, c)
}

func (f *fake) Discard(ctx context.Context, id int64, c actors.Change) (models.Task, error) {
	return f.change(ctx, id, "discard", models.StateCancelled, c)
}

func (f *fake) Repeat(ctx context.Context, id int64, params json.RawMessage, c actors.Change) (actors.Enqueued, error) {
	if err := f.begin(ctx); err != nil {
		return actors.Enqueued{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if id > int64(len(f.rows)) {
		return actors.Enqueued{}, models.ErrNotFound
	}
	old := f.rows[id-1]
	if !old.State.IsFinal() {
		return actors.Enqueued{}, &models.StateError{ID: id, State: old.State, Action: "repeat"}
	}
	f.repeats, f.changes = append(f.repeats, params), append(f.changes, c)
	if params == nil {
		params = json.RawMessage(old.Params)
	}
	again := f.insert(models.Task{Type: old.Type, Params: string(params), RepeatedFrom: id})
	return actors.Enqueued{Task: f.rows[again-1]}, nil
}

func (f *fake) Bulk(ctx context.Context, req actors.BulkRequest) (actors.BulkReport, error) {
	if err := f.begin(ctx); err != nil {
		return actors.BulkReport{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bulks = append(f.bulks, req)
	return actors.BulkReport{ID: 5, Matched: 3, Done: 2, Skipped: []actors.Skip{{ID: 9, Code: "running", Reason: "it runs"}}, SkippedTotal: 1}, nil
}

// typeChange makes a change of a type under the lock.
func (f *fake) typeChange(ctx context.Context, typ string, c actors.Change, set func()) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.registry.Lookup(typ); !ok {
		return actors.ErrUnknownType
	}
	f.changes = append(f.changes, c)
	set()
	return nil
}

func (f *fake) Pause(ctx context.Context, typ string, c actors.Change) error {
	return f.typeChange(ctx, typ, c, func() { f.paused[typ] = c })
}

func (f *fake) Resume(ctx context.Context, typ string, c actors.Change) error {
	return f.typeChange(ctx, typ, c, func() { delete(f.paused, typ) })
}

func (f *fake) Resize(ctx context.Context, typ string, n int, c actors.Change) error {
	return f.typeChange(ctx, typ, c, func() { f.sizes[typ] = n })
}

func (f *fake) Pool(typ string) (actors.PoolStatus, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, ok := f.registry.Lookup(typ)
	if !ok {
		return actors.PoolStatus{}, false
	}
	size := d.Policy.Concurrency
	if n := f.sizes[typ]; n > 0 {
		size = n
	}
	c, paused := f.paused[typ]
	return actors.PoolStatus{Concurrency: size, Busy: 1, Ready: 2, Paused: paused, PauseReason: c.Reason, PausedBy: c.By}, true
}

func (f *fake) Registry() *tasks.Registry { return f.registry }
func (f *fake) Health() actors.Health     { return f.health }
func (f *fake) Tree() []actors.TreeRow {
	rows := []actors.TreeRow{{ID: "supervisor", Kind: "supervisor"}, {ID: "journal", Parent: "supervisor", Kind: "journal", Depth: 1, Processed: 42}}
	return append(rows, f.workers...)
}

func (f *fake) Subscribe(tell func([]string)) (unsubscribe func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs = append(f.subs, tell)
	i := len(f.subs) - 1
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.subs[i] = nil
	}
}

func (f *fake) Task(_ context.Context, id int64) (models.Task, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readErr != nil {
		return models.Task{}, f.readErr
	}
	if id > int64(len(f.rows)) {
		return models.Task{}, models.ErrNotFound
	}
	return f.rows[id-1], nil
}

func (f *fake) Attempts(_ context.Context, id int64) ([]models.Attempt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []models.Attempt
	for _, a := range f.attempts {
		if a.TaskID == id {
			all = append(all, a)
		}
	}
	return all, f.readErr
}

func (f *fake) List(ctx context.Context, q models.Filter, limit int) (models.Page, error) {
	if f.store != nil {
		return f.store.List(ctx, q, limit)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readErr != nil {
		return models.Page{}, f.readErr
	}
	var page models.Page
	for _, row := range slices.Backward(f.rows) {
		if q.Before != 0 && row.ID >= q.Before ||
			len(q.States) > 0 && !slices.Contains(q.States, row.State) ||
			len(q.Types) > 0 && !slices.Contains(q.Types, row.Type) ||
			q.TraceID != "" && row.TraceID != q.TraceID || q.Suspected && row.Suspected == "" ||
			q.CreatedFrom != 0 && row.CreatedAt < q.CreatedFrom || q.CreatedTo != 0 && row.CreatedAt >= q.CreatedTo {
			continue
		}
		if len(page.Tasks) == limit {
			page.Next = page.Tasks[limit-1].ID
			break
		}
		if len(row.Params) > 2048 {
			row.Params, row.Cut = row.Params[:2048], true
		}
		page.Tasks = append(page.Tasks, row)
	}
	return page, nil
}

func (f *fake) Logs(_ context.Context, id int64, attempt, after, limit int) ([]models.LogLine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []models.LogLine
	for _, l := range f.logs {
		if l.TaskID == id && l.Attempt == attempt && l.Seq > after && len(lines) < limit {
			lines = append(lines, l)
		}
	}
	return lines, f.readErr
}

func (f *fake) Counts(context.Context) ([]models.Count, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts, f.readErr
}

func (f *fake) MinuteStats(_ context.Context, from, to models.Instant) ([]models.MinuteStat, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads.Add(1)
	var rows []models.MinuteStat
	for i := range f.minutes { // not by value: a row is large, and there are thousands
		if m := &f.minutes[i]; m.Minute >= from && m.Minute < to {
			rows = append(rows, *m)
		}
	}
	return rows, f.readErr
}

func (f *fake) Boots(context.Context, models.Instant) ([]models.Boot, error) {
	return f.boots, f.readErr
}
func (f *fake) AuditMarks(context.Context, models.Instant, models.Instant, int) ([]models.AuditMark, error) {
	return f.marks, f.readErr
}
func (f *fake) NextRetry(context.Context) (models.Instant, error) { return f.retryAt, f.readErr }
func (f *fake) Gauges() []actors.Gauge                            { return f.gauges }
func (f *fake) Figures() actors.Figures                           { return f.figures }

func (f *fake) ErrorGroups(_ context.Context, limit int) ([]models.ErrorGroup, error) {
	return f.groups[:min(len(f.groups), limit)], f.readErr
}

var errSecret = errors.New("open /var/secret/reax.db: no such table: hunter2")

func (f *fake) Why(context.Context, *models.Task) (actors.Why, error) { return f.why, f.whyErr }

func (f *fake) LatestAttempts(_ context.Context, id int64, before, limit int) ([]models.Attempt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []models.Attempt
	for _, a := range f.attempts {
		if a.TaskID == id && (before <= 0 || a.Attempt < before) {
			all = append(all, a)
		}
	}
	return all[max(len(all)-limit, 0):], f.readErr
}

func (f *fake) LogTail(_ context.Context, id int64, attempt, before, limit int) ([]models.LogLine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []models.LogLine
	for _, l := range f.logs {
		if l.TaskID == id && l.Attempt == attempt && (before <= 0 || l.Seq < before) {
			lines = append(lines, l)
		}
	}
	return lines[max(len(lines)-limit, 0):], f.readErr
}

func (f *fake) AuditOf(_ context.Context, target, id string, limit int) ([]models.Audit, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []models.Audit
	for _, a := range slices.Backward(f.audit) {
		if a.Target == target && a.TargetID == id && len(found) < limit {
			found = append(found, a)
		}
	}
	return found, f.readErr
}

// addSecret registers the type "secret", whose parameter token is not to be shown.
func addSecret(t testing.TB, f *fake) {
	t.Helper()
	schema, err := tasks.CompileSchema(json.RawMessage(`{"type":"object","properties":{"user":{"type":"string"},"token":{"type":"string","writeOnly":true}}}`))
	require.NoError(t, err)
	require.NoError(t, f.registry.Add(tasks.Definition{Name: "secret", Kind: tasks.KindCommand, Schema: schema, Policy: tasks.DefaultPolicy(),
		Handler: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil },
	}))
}
