package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// mailbox stands in for a receiver: it keeps what it was sent.
type mailbox struct {
	mu   sync.Mutex
	got  []string
	fail atomic.Bool
}

func (m *mailbox) take(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
	if m.fail.Load() {
		return nil, tasks.Permanent(errors.New("nobody is there"))
	}
	var n tasks.Notice
	if err := json.Unmarshal(params, &n); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got = append(m.got, fmt.Sprintf("%s %s %s %d", n.Event, n.Rule, n.Facts.Name, n.Facts.Count))
	return nil, nil
}

// all is what came since it was asked last.
func (m *mailbox) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	got := m.got
	m.got = nil
	return got
}

// watched makes a registry of types of which "work" fails for good when its number is not 0.
func (m *mailbox) watched(t *testing.T) *tasks.Registry {
	return registryOf(t, quick(), map[string]handler{
		tasks.NoticeType: m.take,
		"work": func(_ context.Context, p json.RawMessage) (json.RawMessage, error) {
			if n := number(p); n > 0 {
				return nil, tasks.Permanent(fmt.Errorf("no such %s", []string{"", "customer", "order"}[n]))
			}
			return nil, nil
		},
	})
}

// rulesOf are options with rules and one receiver.
func rulesOf(rules ...AlertRule) Options {
	for i := range rules {
		rules[i] = rules[i].WithDefaults()
	}
	return Options{Alerts: AlertOptions{Rules: rules, Receivers: []AlertReceiver{{Name: "ops", Kind: "json"}}}}
}

func numbered(n int) func(*EnqueueRequest) {
	return func(r *EnqueueRequest) { r.Params = fmt.Appendf(nil, `{"n": %d}`, n) }
}

func TestDeadTasksAreOneAlertAnErrorThroughRestartsAndCrashes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		box := &mailbox{}
		var crash atomic.Int64
		opts := rulesOf(AlertRule{Name: "broken", AlertSpec: models.AlertSpec{Kind: models.AlertDead}})
		opts.fault = func(kind string, message any) {
			if _, looks := message.(*lookAtAlerts); kind == "alerts" && looks && crash.Add(-1) >= 0 {
				panic("a fault of the test")
			}
		}
		f := start(t, box.watched(t), opts)
		for range 5 {
			f.enqueue("work", numbered(1))
		}
		pass(15 * time.Second)
		require.Equal(t, []string{"begin broken work 5"}, box.all(), "one for five tasks")
		crash.Store(2)
		f.enqueue("work", numbered(2))
		pass(25 * time.Second)
		require.Equal(t, []string{"begin broken work 1"}, box.all(), "another error is another alert; two crashes of the actor change nothing")
		open, err := f.store.OpenAlerts(t.Context())
		require.NoError(t, err)
		require.Len(t, open, 2)
		require.NotZero(t, open[0].Read().Task, "an example")
		path := f.path
		f.end()

		f = startOn(t, path, box.watched(t), opts)
		f.enqueue("work", numbered(1))
		pass(time.Minute)
		require.Empty(t, box.all(), "a restart repeats nothing")
		pass(time.Hour)
		require.ElementsMatch(t, []string{"end broken work 5", "end broken work 1"}, box.all(), "an hour without another one")
		f.enqueue("work", numbered(1))
		pass(15 * time.Second)
		require.Equal(t, []string{"begin broken work 7"}, box.all())
		history, err := f.store.AlertHistory(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Len(t, history, 3)
		f.checkCounts()
	})
}

func TestAReceiverThatFailsMakesNoMoreAlerts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		box := &mailbox{}
		box.fail.Store(true)
		f := start(t, box.watched(t), rulesOf(
			AlertRule{Name: "broken", AlertSpec: models.AlertSpec{Kind: models.AlertDead}},
			AlertRule{Name: "failing", AlertSpec: models.AlertSpec{Kind: models.AlertSuccess, Samples: 1}},
			AlertRule{Name: "pile", AlertSpec: models.AlertSpec{Kind: models.AlertBacklog, Limit: 1}},
			AlertRule{Name: "waits", AlertSpec: models.AlertSpec{Kind: models.AlertWait, Limit: int64(time.Second)}},
			AlertRule{Name: "slow", AlertSpec: models.AlertSpec{Kind: models.AlertSlow, Samples: 1}},
		))
		sent, err := f.TestReceiver(t.Context(), "ops", Change{By: "ann"})
		require.NoError(t, err)
		trail, err := f.store.AuditOf(t.Context(), "task", fmt.Sprint(sent.ID), 10)
		require.NoError(t, err)
		require.Len(t, trail, 1)
		require.Equal(t, `test by ann {"receiver":"ops"}`, trail[0].Action+" by "+trail[0].Actor+" "+trail[0].After)
		require.NoError(t, f.Pause(t.Context(), "work", Change{By: "ann"}))
		pass(2 * time.Minute)
		require.Equal(t, map[models.State]int{models.StateFailed: 1}, f.states(tasks.NoticeType))
		require.Zero(t, f.Health().Finished5m, "nor do they count as runs that fail")
		require.NoError(t, f.Pause(t.Context(), tasks.NoticeType, Change{By: "ann"}))
		for range 5 {
			_, err = f.TestReceiver(t.Context(), "ops", Change{By: "ann"})
			require.NoError(t, err)
		}
		pass(10 * time.Minute)
		require.Equal(t, map[models.State]int{models.StateFailed: 1, models.StatePending: 5}, f.states(tasks.NoticeType), "messages that fail or wait are no alert")
		_, err = f.TestReceiver(t.Context(), "nobody", Change{})
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}

func TestRulesOfThePageAreMutedRenamedAndDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		box := &mailbox{}
		f := start(t, box.watched(t), rulesOf(AlertRule{Name: "file", AlertSpec: models.AlertSpec{Kind: models.AlertDisk, Limit: 1 << 20}}))
		by, ctx := Change{By: "ann", Reason: "the batch of the month"}, t.Context()
		rule := AlertRule{Name: "pile", AlertSpec: models.AlertSpec{Kind: models.AlertBacklog, Limit: 3, For: time.Minute}}.WithDefaults()
		_, err := f.SaveAlertRule(ctx, "", rule, by)
		require.NoError(t, err)
		for _, was := range []string{"", "other"} {
			_, err = f.SaveAlertRule(ctx, was, rule, by)
			require.Error(t, err)
		}
		_, err = f.SaveAlertRule(ctx, "", AlertRule{Name: "file", AlertSpec: rule.AlertSpec}, by)
		require.ErrorIs(t, err, models.ErrRuleTaken)
		_, err = f.SaveAlertRule(ctx, "", AlertRule{Name: "bad"}, by)
		require.ErrorAs(t, err, new(*tasks.InvalidError))

		require.NoError(t, f.Pause(ctx, "work", by))
		f.enqueueMany(several("work", 4))
		require.NoError(t, f.MuteAlertRule(ctx, "pile", time.Now().Add(10*time.Minute), by))
		require.ErrorIs(t, f.MuteAlertRule(ctx, "gone", time.Time{}, by), models.ErrNotFound)
		require.ErrorAs(t, f.MuteAlertRule(ctx, "pile", time.Now().Add(-time.Second), by), new(*tasks.InvalidError))
		require.NoError(t, f.MuteAlertRule(ctx, "file", time.Time{}, by))
		pass(9 * time.Minute)
		require.Empty(t, box.all())
		pass(2 * time.Minute)
		require.Equal(t, []string{"begin pile  0"}, box.all(), "what still holds is told when the mute is over")

		rule.Name, rule.Limit = "heap", 2
		_, err = f.SaveAlertRule(ctx, "pile", rule, by)
		require.NoError(t, err)
		pass(time.Minute)
		require.Empty(t, box.all(), "another name is no other alert")
		require.NoError(t, f.DeleteAlertRule(ctx, "heap", by))
		require.ErrorIs(t, f.DeleteAlertRule(ctx, "heap", by), models.ErrNotFound)
		pass(time.Minute)
		require.Equal(t, []string{"end heap  0"}, box.all(), "who knows of it learns that it is over")
		require.NoError(t, f.UnmuteAlertRule(ctx, "file", by))
		audit, err := f.store.AuditOf(ctx, "alert", "file", 10)
		require.NoError(t, err)
		require.Equal(t, []string{"unmute", "mute"}, []string{audit[0].Action, audit[1].Action})
		require.Equal(t, by.Reason, audit[1].Reason)
	})
}

func TestEachKindOfRuleSeesItsTrouble(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		box := &mailbox{}
		registry := box.watched(t)
		require.NoError(t, registry.Add(tasks.Definition{Name: "long", Kind: tasks.KindGo, Schema: tasks.AnyObject(), Policy: quick(),
			Handler: func(_ context.Context, p json.RawMessage) (json.RawMessage, error) {
				takes(time.Duration(1+100*number(p)) * time.Second)
				return nil, nil
			}}))
		f := start(t, registry, rulesOf(
			AlertRule{Name: "crashes", AlertSpec: models.AlertSpec{Kind: models.AlertCrashes, Limit: 2}},
			AlertRule{Name: "disk", AlertSpec: models.AlertSpec{Kind: models.AlertDisk, Limit: 1 << 20}},
			AlertRule{Name: "failing", AlertSpec: models.AlertSpec{Kind: models.AlertSuccess, Limit: 50, Samples: 5, Types: []string{"work"}}},
			AlertRule{Name: "late", AlertSpec: models.AlertSpec{Kind: models.AlertMissed}},
			AlertRule{Name: "slow", AlertSpec: models.AlertSpec{Kind: models.AlertSlow, Samples: 3}},
			AlertRule{Name: "waits", AlertSpec: models.AlertSpec{Kind: models.AlertWait, Limit: int64(time.Minute), Types: []string{"wo*"}}},
		))
		pass(20 * time.Second)
		require.Empty(t, box.all())

		f.enqueueMany(several("long", 1))
		for range 4 {
			f.enqueue("long")
		}
		for range 3 {
			f.enqueue("work", numbered(1))
		}
		f.enqueue("work")
		pass(15 * time.Second)
		require.Empty(t, box.all(), "too few samples")
		f.enqueue("work", numbered(2))
		pass(15 * time.Second)
		require.Equal(t, []string{"begin failing  5"}, box.all())

		pass(6 * time.Minute)
		require.Equal(t, []string{"end failing  5"}, box.all(), "nothing has run for five minutes")
		f.enqueue("long", numbered(1))
		pass(20 * time.Second)
		require.Equal(t, []string{"begin slow long 1"}, box.all())

		for range 3 {
			f.figures.crashes.add(time.Now())
		}
		f.meter.missed.Put(1, missedLately{name: "nightly", n: 2, at: time.Now()})
		pass(15 * time.Second)
		require.ElementsMatch(t, []string{"begin crashes  0", "begin late nightly 2"}, box.all())

		require.NoError(t, f.Pause(t.Context(), "work", Change{By: "ann"}))
		f.enqueue("work")
		pass(80 * time.Second)
		require.Contains(t, box.all(), "begin waits work 0")
		require.NoError(t, f.Resume(t.Context(), "work", Change{By: "ann"}))
		pass(20 * time.Minute)
		require.ElementsMatch(t, []string{"end slow long 1", "end crashes  0", "end late nightly 2", "end waits work 0"}, box.all())
	})
}
