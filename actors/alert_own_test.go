package actors

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

func TestMessagesAreMadeByReaxAloneAndRetriedByPeople(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		box := &mailbox{}
		box.fail.Store(true)
		registry := registryOf(t, quick(), map[string]handler{"work": waits(0)})
		require.NoError(t, registry.Add(tasks.Definition{Name: tasks.NoticeType, Kind: tasks.KindGo, Schema: tasks.AnyObject(), Policy: quick(), Handler: box.take, Internal: true}))
		f := start(t, registry, rulesOf())
		ctx, by := t.Context(), Change{By: "ann", Reason: "again"}
		made := json.RawMessage(`{"receiver":"ops","event":"begin","rule":"a lie"}`)

		_, err := f.Enqueue(ctx, EnqueueRequest{Type: tasks.NoticeType, Params: made})
		requireFaults(t, err, "/type")
		require.ErrorContains(t, err, "reax itself makes the tasks of")
		_, err = f.EnqueueBatch(ctx, []EnqueueRequest{{Type: "work"}, {Type: tasks.NoticeType, Params: made}})
		refused := (*BatchError)(nil)
		require.ErrorAs(t, err, &refused)
		requireFaults(t, refused.Errors[1], "/type")
		_, err = f.CreateSchedule(ctx, ScheduleSpec{Name: "s", Task: tasks.NoticeType, Every: time.Hour, Params: made}, by)
		requireFaults(t, err, "/task")

		var ids []int64
		for range 3 {
			message, err := f.TestReceiver(ctx, "ops", by)
			require.NoError(t, err)
			ids = append(ids, message.ID)
		}
		pass(time.Second)
		require.Equal(t, map[models.State]int{models.StateFailed: 3}, f.states(tasks.NoticeType))
		_, err = f.Repeat(ctx, ids[0], made, by)
		requireFaults(t, err, "/type")
		_, err = f.PlanBulk(ctx, BulkRequest{Action: ActionReplace, Filter: &models.Filter{Types: []string{tasks.NoticeType}}, Patch: made, Change: by})
		requireFaults(t, err, "/filter/type")
		require.Empty(t, f.states("work"))

		box.fail.Store(false)
		_, err = f.Retry(ctx, ids[0], by)
		require.NoError(t, err)
		report, err := f.Bulk(ctx, BulkRequest{Action: ActionRetry, Filter: &models.Filter{Types: []string{tasks.NoticeType}, States: []models.State{models.StateFailed}}, Change: by})
		require.NoError(t, err)
		require.Equal(t, 2, report.Done)
		pass(time.Second)
		repeated, err := f.Repeat(ctx, ids[2], nil, by)
		require.NoError(t, err)
		pass(time.Second)
		require.Equal(t, models.StateSuccess, f.task(repeated.Task.ID).State)
		require.Len(t, box.all(), 4)
	})
}
