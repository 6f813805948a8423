package models

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"pgregory.net/rapid"
)

// minute is a minute of an Instant: created_at in these tests is the id times this, so that createdSlack matters.
const minute = Instant(time.Minute / time.Microsecond)

// fits says by plain comparison whether a filter, but for its cursor, holds a task.
func fits(f Filter, t Task) bool {
	var tags []string
	_ = json.Unmarshal([]byte(t.Tags), &tags)
	textFits := strings.Contains(strings.ToLower(t.Error), strings.ToLower(f.Text)) && t.Error != "" ||
		f.Text == fmt.Sprint(t.ID) || len(f.Text) >= 6 && strings.HasPrefix(t.TraceID, f.Text)
	return (len(f.States) == 0 || slices.Contains(f.States, t.State)) &&
		(len(f.Types) == 0 || slices.Contains(f.Types, t.Type)) &&
		(f.PriorityMin == 0 || t.Priority >= f.PriorityMin) && (f.PriorityMax == 0 || t.Priority <= f.PriorityMax) &&
		(f.TraceID == "" || t.TraceID == f.TraceID) && (f.UniqueKey == "" || t.UniqueKey == f.UniqueKey) &&
		(f.Tag == "" || slices.Contains(tags, f.Tag)) && (f.Text == "" || textFits) &&
		(f.CreatedFrom == 0 || t.CreatedAt >= f.CreatedFrom) && (f.CreatedTo == 0 || t.CreatedAt < f.CreatedTo) &&
		(!f.Suspected || t.Suspected != "") && (f.Schedule == "" || t.Schedule == f.Schedule)
}

var (
	variedTypes  = []string{"a", "b", "c"}
	variedTraces = []string{"aaaaaa11", "aaaaaa22", "bbbbbb33"}
)

// seedVaried writes 300 tasks of all kinds and gives them, newest first.
func seedVaried(t *testing.T, s *Store) (all []Task) {
	t.Helper()
	now := At(time.Now())
	pick := func(i int, all ...any) any { return all[(i*7919>>3)%len(all)] }
	var rows []row
	for i := range 300 {
		rows = append(rows, row{
			"id":   1 + i + i/100*50, // with gaps where tasks were deleted
			"type": variedTypes[i*i%3], "state": States[i*31%7], "priority": 1 + i%10, "trace_id": variedTraces[i*13%3],
			"tags":                pick(i, nil, `["x"]`, `["y","x"]`, `["xx"]`, `{"x`, `[]`),
			"error":               pick(i+1, nil, "connection refused", "100% Refused_", "code 42"),
			"suspected":           pick(i+2, nil, nil, nil, nil, "the process died"),
			"schedule":            pick(i+3, nil, nil, "nightly", "hourly"),
			"created_at":          int64(minute) * int64(1+i+i/100*50),
			"updated_at":          int64(minute) * int64(i*7919%50),
			"started_at":          pick(i+4, nil, int64(now)-int64(minute)*int64(i%40), int64(now)-int64(minute)*int64(i%7)),
			"finished_at":         pick(i+5, nil, int64(now), int64(now)+int64(i%9)),
			"cancel_requested_at": pick(i+6, nil, 1000),
		})
	}
	for i, r := range rows {
		if r["state"] == StateSuccess {
			r["error"] = nil // as Finish leaves it
		}
		if i%5 == 0 && !slices.Contains([]State{StatePending, StateRunning, StateRetryWait}, r["state"].(State)) {
			r["unique_key"] = fmt.Sprint("key", i%3)
		}
	}
	seedTasks(t, s, rows...)
	require.NoError(t, s.Reader().Order("id DESC").Find(&all).Error)
	return all
}

// drawFilter draws a filter of the tasks of seedVaried.
func drawFilter(rt *rapid.T) (f Filter) {
	some := func(name string) bool { return rapid.IntRange(0, 2).Draw(rt, name) == 0 }
	f.States = rapid.SliceOfN(rapid.SampledFrom(append(slices.Clone(States), "odd")), 0, 4).Draw(rt, "states")
	f.Types = rapid.SliceOfN(rapid.SampledFrom(append(slices.Clone(variedTypes), "none")), 0, 3).Draw(rt, "types")
	if some("priority") {
		f.PriorityMin, f.PriorityMax = rapid.IntRange(0, 10).Draw(rt, "min"), rapid.IntRange(0, 10).Draw(rt, "max")
	}
	if some("trace") {
		f.TraceID = rapid.SampledFrom(append(slices.Clone(variedTraces), "none")).Draw(rt, "trace id")
	}
	if some("key") {
		f.UniqueKey = rapid.SampledFrom([]string{"key0", "key1", "none"}).Draw(rt, "unique key")
	}
	if some("tag") {
		f.Tag = rapid.SampledFrom([]string{"x", "y", "none"}).Draw(rt, "a tag")
	}
	if some("text") {
		f.Text = rapid.SampledFrom([]string{"refused", "100%", "_", "42", "aaaaaa", "aaaaaa2", "bbbbbb33", "none"}).Draw(rt, "a text")
	}
	if some("time") {
		f.CreatedFrom = minute * Instant(rapid.IntRange(0, 400).Draw(rt, "from"))
		f.CreatedTo = minute * Instant(rapid.IntRange(0, 400).Draw(rt, "to"))
	}
	f.Suspected = some("suspected")
	if some("schedule") {
		f.Schedule = rapid.SampledFrom([]string{"nightly", "hourly", "none"}).Draw(rt, "a schedule")
	}
	return f
}

func TestPagesHoldExactlyTheTasksOfTheFilter(t *testing.T) {
	s := openStore(t)
	all := seedVaried(t, s)
	rapid.Check(t, func(rt *rapid.T) {
		f := drawFilter(rt)
		s.walk = rapid.SampledFrom([]int{10, 100, walkLimit}).Draw(rt, "walk")
		limit := rapid.SampledFrom([]int{1, 7, 1000}).Draw(rt, "limit")

		var want []int64
		for _, task := range all {
			if fits(f, task) {
				want = append(want, task.ID)
			}
		}
		got, err := pages(t.Context(), s, f, limit)
		require.NoError(rt, err)
		require.Equal(rt, want, got)

		ids, err := s.TaskIDs(t.Context(), f, 1000)
		require.NoError(rt, err)
		require.Equal(rt, want, ids)
	})
	s.walk = walkLimit
}

// pages reads a list to its end and gives each id once, newest first. Pages descend, and none is over the limit.
func pages(ctx context.Context, s *Store, f Filter, limit int) (all []int64, err error) {
	for {
		page, err := s.List(ctx, f, limit)
		if err != nil {
			return nil, err
		}
		ids := taskIDsOf(page.Tasks)
		if len(ids) > limit || !slices.IsSortedFunc(ids, descending) || f.Before != 0 && len(ids) > 0 && ids[0] >= f.Before {
			return nil, fmt.Errorf("page %v of %+v", ids, f)
		}
		all = append(all, ids...)
		if page.Next == 0 {
			slices.SortFunc(all, descending)
			return slices.Compact(all), nil
		}
		if f.Before != 0 && page.Next >= f.Before {
			return nil, fmt.Errorf("cursor %d after %d", page.Next, f.Before)
		}
		f.Before = page.Next
	}
}

func TestPageLooksAtNoMoreRowsThanItsLimitAndSaysWhereToGoOn(t *testing.T) {
	s := openStore(t)
	s.walk = 10
	rows := make([]row, 100)
	for i := range rows {
		rows[i] = row{"type": []string{"a", "b"}[i%2], "priority": 5, "state": StateSuccess}
	}
	rows[4]["priority"] = 1
	seedTasks(t, s, rows...)

	page, err := s.List(t.Context(), Filter{PriorityMax: 1}, 5)
	require.NoError(t, err)
	require.Empty(t, page.Tasks)
	require.Equal(t, int64(91), page.Next)
	page, err = s.List(t.Context(), Filter{PriorityMax: 1, Before: 11}, 5)
	require.NoError(t, err)
	require.Equal(t, []int64{5}, taskIDsOf(page.Tasks))
	require.Zero(t, page.Next)
	page, err = s.List(t.Context(), Filter{PriorityMax: 1, Types: []string{"a"}}, 5)
	require.NoError(t, err)
	require.Empty(t, page.Tasks)
	require.Equal(t, int64(80), page.Next, "ten rows of the type")

	// What the text names is there at once.
	page, err = s.List(t.Context(), Filter{Text: "3"}, 5)
	require.NoError(t, err)
	require.Equal(t, []int64{3}, taskIDsOf(page.Tasks))
	require.Zero(t, page.Next, "no success has an error to look at")

	tasks, err := s.Tasks(t.Context(), Filter{}, 0)
	require.NoError(t, err)
	require.Len(t, tasks, 1, "a page has at least one task")
	ids, err := s.TaskIDs(t.Context(), Filter{PriorityMax: 1}, 5)
	require.NoError(t, err)
	require.Equal(t, []int64{5}, ids)
	ids, err = s.TaskIDs(t.Context(), Filter{States: []State{StateSuccess}}, 25)
	require.NoError(t, err)
	require.Len(t, ids, 25)
	require.Equal(t, int64(100), ids[0])
	require.Equal(t, int64(76), ids[24])
}

func TestPageEndsWhenItsTimeIsOverAndSaysHowFarItLooked(t *testing.T) {
	s := openStore(t)
	rows := make([]row, 3*walkStep)
	for i := range rows {
		rows[i] = row{"priority": 5, "state": StateSuccess, "created_at": int64(minute) * int64(1+i)}
	}
	rows[0]["priority"] = 1
	seedTasks(t, s, rows...)
	s.walkTime = 0

	page, err := s.List(t.Context(), Filter{PriorityMax: 1}, 5)
	require.NoError(t, err)
	require.Equal(t, Page{Next: 2*walkStep + 1, Searched: minute * (2*walkStep + 1)}, page, "one step is looked at whatever the time")
	got, err := pages(t.Context(), s, Filter{PriorityMax: 1}, 5)
	require.NoError(t, err)
	require.Equal(t, []int64{1}, got)

	s.walkTime = time.Hour
	page, err = s.List(t.Context(), Filter{PriorityMax: 1}, 5)
	require.NoError(t, err)
	require.Equal(t, []int64{1}, taskIDsOf(page.Tasks))
	require.Zero(t, page.Next)
	require.Zero(t, page.Searched, "it looked at all there is")
	page, err = s.List(t.Context(), Filter{PriorityMin: 5}, 5)
	require.NoError(t, err)
	require.NotZero(t, page.Next)
	require.Zero(t, page.Searched, "a full page says nothing")
}

func TestListIsSmallWhateverThePayloads(t *testing.T) {
	s := openStore(t)
	wide := strings.Repeat("日本", 500_000)
	seedTasks(t, s,
		row{"params": wide, "result": wide, "error": wide},
		row{"params": strings.Repeat("x", previewLimit), "state": StateSuccess},
		row{"params": `{}`, "error": strings.Repeat("x", previewLimit+1)})
	tasks, err := s.Tasks(t.Context(), Filter{}, 10)
	require.NoError(t, err)
	require.Len(t, tasks, 3)
	require.True(t, tasks[2].Cut)
	for _, text := range []string{tasks[2].Params, tasks[2].Result, tasks[2].Error} {
		require.LessOrEqual(t, len(text), previewLimit)
		require.Greater(t, len(text), previewLimit-4)
		require.True(t, strings.HasPrefix(wide, text))
	}
	require.False(t, tasks[1].Cut)
	require.Len(t, tasks[1].Params, previewLimit)
	require.True(t, tasks[0].Cut)
	require.Equal(t, `{}`, tasks[0].Params)

	task, err := s.Task(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, wide, task.Params)
	require.False(t, task.Cut)
}

func TestListedTaskHasEveryColumnOfTheWholeOne(t *testing.T) {
	s := openStore(t)
	r := row{"type": "t", "trace_id": "tr", "params": "p"}
	for _, column := range columnsOf(t, s, "tasks") {
		if _, ok := r[column]; !ok && column != "state" {
			r[column] = 1
		}
	}
	for _, column := range []string{"suspected", "progress_note", "unique_key", "worker", "boot_id", "enqueued_by", "schedule",
		"error_kind", "fingerprint", "tags", "error", "result"} {
		r[column] = column
	}
	ids := seedTasks(t, s, r)
	whole, err := s.Task(t.Context(), ids[0])
	require.NoError(t, err)
	tasks, err := s.Tasks(t.Context(), Filter{}, 1)
	require.NoError(t, err)
	require.Equal(t, []Task{whole}, tasks)
}

func TestCanceledListEndsWithTheContextsError(t *testing.T) {
	s := openStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.List(ctx, Filter{}, 1)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.TaskIDs(ctx, Filter{}, 1)
	require.ErrorIs(t, err, context.Canceled)
}

func TestHostileFilterFindsNothingAndFailsNot(t *testing.T) {
	s := openStore(t)
	seedTasks(t, s, row{"error": "plain"})
	for _, text := range []string{"'", `"`, `\`, "%' OR 1=1 --", "\x00", "\xff\xfe", strings.Repeat("%", 100_000), "99999999999999999999999", "-1"} {
		for _, f := range []Filter{{Text: text}, {Tag: text}, {TraceID: text}, {UniqueKey: text}, {Types: []string{text}}, {States: []State{State(text)}}} {
			page, err := s.List(t.Context(), f, 10)
			require.NoError(t, err)
			require.Empty(t, page.Tasks, "%q", f)
		}
	}
}

func TestFirstCreatedAtFindsTheIDWhereATimeBegins(t *testing.T) {
	s := openStore(t)
	at := func(created Instant) int64 {
		id, err := firstCreatedAt(s.Reader(), created)
		require.NoError(t, err)
		return id
	}
	require.Equal(t, int64(1), at(5), "an empty table")
	require.NoError(t, s.Writer().Transaction(func(tx *gorm.DB) error {
		for _, id := range []int{3, 4, 10, 500, 501} {
			seedTask(t, tx, row{"id": id, "created_at": id * 10})
		}
		return nil
	}))
	for created, want := range map[Instant]int64{1: 1, 30: 1, 31: 4, 40: 4, 41: 5, 100: 5, 101: 11, 5000: 11, 5001: 501, 5010: 501, 5011: 502} {
		next := slices.MinFunc([]int64{3, 4, 10, 500, 501, 502}, func(a, b int64) int {
			return cmp.Or(cmp.Compare(gap(a, want), gap(b, want)), cmp.Compare(a, b))
		})
		got := at(created)
		require.LessOrEqual(t, got, next, "of %d", created)
		require.GreaterOrEqual(t, got, want, "of %d", created)
	}
}

// gap is how far id is above want; ids below it come last.
func gap(id, want int64) int64 {
	if id < want {
		return 1 << 40
	}
	return id - want
}
