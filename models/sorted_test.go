package models

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sortedPages reads a sorted list to its end. None of its pages is over the limit.
func sortedPages(ctx context.Context, s *Store, f Filter, limit int) (all []Task, first Page, err error) {
	for {
		page, err := s.List(ctx, f, limit)
		if err != nil {
			return nil, first, err
		}
		if f.After.ID == 0 {
			first = page
		}
		all = append(all, page.Tasks...)
		switch {
		case len(page.Tasks) > limit || page.Next != 0 || page.Partial != first.Partial || page.Among != first.Among:
			return nil, first, fmt.Errorf("page %+v after %+v", page, first)
		case page.After == nil:
			return all, first, nil
		case len(page.Tasks) < limit:
			return nil, first, fmt.Errorf("a page of %d that goes on", len(page.Tasks))
		}
		f.After = *page.After
	}
}

// plainly sorts tasks as o says, by what people see of them.
func plainly(o Order, tasks []Task, now Instant) []int64 {
	tasks = slices.Clone(tasks)
	turn := 1
	if strings.HasPrefix(string(o), "-") {
		turn = -1
	}
	slices.SortFunc(tasks, func(a, b Task) int {
		byValue := 0
		switch strings.TrimPrefix(string(o), "-") {
		case "changed":
			byValue = cmp.Compare(a.UpdatedAt, b.UpdatedAt)
		case "priority":
			byValue = cmp.Compare(a.Priority, b.Priority)
		case "duration":
			da, ran := a.RunTime(now)
			db, also := b.RunTime(now)
			if ran != also {
				return map[bool]int{true: -1, false: 1}[ran] // in both directions
			}
			byValue = cmp.Compare(da, db)
		}
		return turn * cmp.Or(byValue, cmp.Compare(a.ID, b.ID))
	})
	return taskIDsOf(tasks)
}

func TestSortedPagesHoldTheNewestTasksOfTheFilterInOrder(t *testing.T) {
	s := openStore(t)
	all := seedVaried(t, s)
	s.walkTime = time.Hour
	rapid.Check(t, func(rt *rapid.T) {
		f := drawFilter(rt)
		f.Order = rapid.SampledFrom(Orders).Draw(rt, "order")
		s.walk = rapid.SampledFrom([]int{10, 100, walkLimit}).Draw(rt, "walk")
		s.sort = rapid.SampledFrom([]int{1, 9, 40, SortLimit}).Draw(rt, "most")
		limit := rapid.SampledFrom([]int{1, 7, 1000}).Draw(rt, "limit")

		got, first, err := sortedPages(t.Context(), s, f, limit)
		require.NoError(rt, err)
		named := func(task Task) bool {
			return f.Text == fmt.Sprint(task.ID) || len(f.Text) >= 6 && strings.HasPrefix(task.TraceID, f.Text)
		}
		var want []Task
		fitting := 0
		for _, task := range all {
			if fits(f, task) {
				fitting++
				if task.ID >= first.place.Low || named(task) {
					want = append(want, task)
				}
			}
		}
		require.Equal(rt, plainly(f.Order, want, first.place.At), taskIDsOf(got))
		if first.Partial {
			require.Equal(rt, len(want), first.Among)
		} else {
			require.Len(rt, want, fitting)
		}
		if f.Text == "" && s.walk == walkLimit {
			require.Len(rt, got, min(fitting, s.sort), "only the walk ends a list earlier")
			require.Equal(rt, fitting > s.sort, first.Partial)
		}
	})
}

func TestSortedListStaysWithTheTasksThatWereThereWhenItBegan(t *testing.T) {
	for _, o := range Orders {
		t.Run(string(o), func(t *testing.T) {
			s := openStore(t)
			s.sort = 20
			now := int64(At(time.Now()))
			dead := func(i int) row {
				return row{"state": StateDead, "priority": 1 + i%10, "updated_at": 1000 + i%7, "started_at": now, "finished_at": now + int64(i%13)}
			}
			var rows []row
			for i := range 30 {
				rows = append(rows, dead(i), row{"state": StateFailed, "started_at": now, "finished_at": now + int64(i)})
			}
			seedTasks(t, s, rows...)
			f := Filter{States: []State{StateDead}, Order: o}
			page, err := s.List(t.Context(), f, 6)
			require.NoError(t, err)
			require.True(t, page.Partial)
			require.Equal(t, 20, page.Among)
			var before []Task
			require.NoError(t, s.Reader().Where("state = 'dead' AND id >= ?", page.place.Low).Find(&before).Error)
			want := plainly(o, before, page.place.At)
			require.Equal(t, want[:6], taskIDsOf(page.Tasks))

			// Newer tasks die, and older ones too.
			rows = nil
			for i := range 30 {
				rows = append(rows, dead(i))
			}
			seedTasks(t, s, rows...)
			require.NoError(t, s.Writer().Exec("UPDATE tasks SET state = 'dead' WHERE id < 61").Error)
			got := taskIDsOf(page.Tasks)
			for page.After != nil {
				f.After = *page.After
				page, err = s.List(t.Context(), f, 6)
				require.NoError(t, err)
				require.True(t, page.Partial)
				got = append(got, taskIDsOf(page.Tasks)...)
			}
			require.Subset(t, got, want)
			slices.Sort(got)
			require.Equal(t, got, slices.Compact(slices.Clone(got)), "none comes twice")
			require.Less(t, got[len(got)-1], int64(61), "what is newer moves no page")
		})
	}
}

func TestRunningTasksAreSortedByHowLongTheyRun(t *testing.T) {
	s := openStore(t)
	now := int64(At(time.Now()))
	ids := seedTasks(t, s,
		row{"state": StateRunning, "started_at": now - 5*int64(minute)}, row{"state": StateRunning, "started_at": now - 90*int64(minute)},
		row{"state": StateRunning, "started_at": now - 20*int64(minute), "finished_at": 5},
		row{"state": StateSuccess, "started_at": 1000, "finished_at": 1000 + 60*int64(minute)}, row{"state": StatePending})
	read := func(f Filter) []int64 {
		got, _, err := sortedPages(t.Context(), s, f, 2)
		require.NoError(t, err)
		return taskIDsOf(got)
	}
	running := []State{StateRunning}
	require.Equal(t, []int64{ids[1], ids[2], ids[0]}, read(Filter{States: running, Order: "-duration"}), "the longest first")
	require.Equal(t, []int64{ids[0], ids[2], ids[1]}, read(Filter{States: running, Order: ByDuration}))
	require.Equal(t, []int64{ids[1], ids[3], ids[2], ids[0], ids[4]}, read(Filter{Order: "-duration"}), "beside those that ended, those without a run last")
}

func TestRunTimeIsThatOfARun(t *testing.T) {
	const now = 1000
	for want, tasks := range map[time.Duration][]Task{
		7 * time.Microsecond: {
			{State: StateSuccess, StartedAt: 10, FinishedAt: 17}, {State: StateRunning, StartedAt: now - 7}, {State: StateRunning, StartedAt: now - 7, FinishedAt: 5},
			{State: StateRetryWait, StartedAt: 10, FinishedAt: 17}, {State: StateCancelled, StartedAt: 10, FinishedAt: 17, CancelRequestedAt: 12},
		},
		-1: {
			{State: StatePending}, {State: StatePending, StartedAt: 10}, {State: StateRunning}, {State: StateCancelled, FinishedAt: 17},
			{State: StateCancelled, StartedAt: 10, FinishedAt: 17},
		},
	} {
		for _, task := range tasks {
			got, ok := task.RunTime(now)
			require.Equal(t, want >= 0, ok, "%+v", task)
			require.Equal(t, max(want, 0), got, "%+v", task)
		}
	}
}

func TestEveryOrderTurnsRound(t *testing.T) {
	for _, o := range Orders {
		require.True(t, o.IsKnown())
		require.Contains(t, Orders, o.Reversed())
		require.NotEqual(t, o.IsDown(), o.Reversed().IsDown())
		require.Equal(t, o, o.Reversed().Reversed())
		require.Equal(t, o.Column(), o.Reversed().Column())
	}
	require.True(t, NewestFirst.IsKnown())
	for _, o := range []Order{"-", "--changed", "created", "CHANGED", "changed,priority"} {
		require.False(t, o.IsKnown(), o)
	}
}

func TestSortedListReadsWholeRowsOnlyOfThePage(t *testing.T) {
	s := openStore(t)
	rows := make([]row, 300)
	for i := range rows {
		rows[i] = row{"priority": 1 + i%10}
	}
	seedTasks(t, s, rows...)
	statements := recordReads(t, s)
	page, err := s.List(t.Context(), Filter{Order: ByPriority}, 5)
	require.NoError(t, err)
	require.Len(t, page.Tasks, 5)
	wide := slices.DeleteFunc(*statements, func(st statement) bool { return !strings.Contains(st.sql, "params") })
	require.Len(t, wide, 1)
	require.Equal(t, []any{"[1,11,21,31,41]"}, wide[0].vars)
}

func TestShortenedSortedPageGoesOnWhereItEnds(t *testing.T) {
	s := openStore(t)
	rows := make([]row, 10)
	for i := range rows {
		rows[i] = row{"priority": 1 + i%3}
	}
	seedTasks(t, s, rows...)
	f := Filter{Order: "-priority"}
	var got []int64
	for {
		page, err := s.List(t.Context(), f, 4)
		require.NoError(t, err)
		if len(page.Tasks) > 3 {
			page.Keep(3)
		}
		got = append(got, taskIDsOf(page.Tasks)...)
		if page.After == nil {
			break
		}
		f.After = *page.After
	}
	require.Equal(t, []int64{9, 6, 3, 8, 5, 2, 10, 7, 4, 1}, got)
	page, err := s.List(t.Context(), Filter{}, 4)
	require.NoError(t, err)
	page.Keep(2)
	require.Equal(t, int64(9), page.Next)
}

func TestSortedListEndsWhenItsTimeIsOverAndSaysHowFarItLooked(t *testing.T) {
	s := openStore(t)
	rows := make([]row, 3*walkStep)
	for i := range rows {
		rows[i] = row{"priority": 1 + i%10, "created_at": int64(minute) * int64(1+i)}
	}
	seedTasks(t, s, rows...)
	s.walkTime = 0
	got, page, err := sortedPages(t.Context(), s, Filter{Order: ByPriority}, 30)
	require.NoError(t, err)
	require.Len(t, got, walkStep, "one step is looked at whatever the time")
	require.True(t, page.Partial)
	require.Equal(t, walkStep, page.Among)
	require.Equal(t, minute*(2*walkStep+1), page.Searched)
}

func TestHostilePlaceFailsNot(t *testing.T) {
	s := openStore(t)
	seedVaried(t, s)
	rapid.Check(t, func(rt *rapid.T) {
		number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 400), rapid.Just(int64(unranked)))
		place := Place{Rank: number.Draw(rt, "rank"), ID: number.Draw(rt, "id"), Low: number.Draw(rt, "low"), High: number.Draw(rt, "high"),
			At: Instant(rapid.Int64Range(0, unranked).Draw(rt, "at"))}
		page, err := s.List(t.Context(), Filter{Order: rapid.SampledFrom(Orders).Draw(rt, "order"), After: place}, 10)
		require.NoError(rt, err)
		require.LessOrEqual(rt, len(page.Tasks), 10)
	})
}
