package models

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// diesOf makes a task that ends dead with an error, and gives the group that it is in.
func (l *ledger) diesOf(message string) ErrorGroup {
	l.t.Helper()
	id := l.add(1)[0]
	l.claim(id)
	l.finish(&Completion{ID: id, Type: "a", Attempt: 1, State: StateDead, Failures: 1, Outcome: OutcomeDead, ErrorKind: "error", Error: message, FinishedAt: At(time.Now())})
	g, err := l.ErrorGroup(l.t.Context(), "a", l.task(id).Fingerprint)
	require.NoError(l.t, err)
	return g
}

func TestWhatPeopleKnowOfAnErrorStaysWithItsGroup(t *testing.T) {
	l := newLedger(t)
	g := l.diesOf("no route to host")
	now := At(time.Now())
	require.Equal(t, GroupMark{}, g.Mark)
	mark := func(m GroupMark) (GroupMark, error) {
		m.Type, m.Fingerprint = g.Type, g.Fingerprint
		err := l.w.Write(func(tx *Tx) (err error) {
			m, err = tx.MarkGroup(m, ann)
			return err
		})
		return m, err
	}
	latest := func(at Instant) Instant {
		at, err := l.LatestFailure(t.Context(), at)
		require.NoError(t, err)
		return at
	}
	require.Equal(t, g.LastAt, latest(now))

	kept, err := mark(GroupMark{Name: "the old switch", Note: "see the ticket", Link: "https://example.org/1", Muted: true, MutedUntil: now.Add(time.Hour)})
	require.NoError(t, err)
	require.Equal(t, "ann", kept.ChangedBy)
	require.Zero(t, latest(now), "it is muted")
	require.Equal(t, g.LastAt, latest(now.Add(2*time.Hour)), "until then")
	groups, err := l.ErrorGroups(t.Context(), 5)
	require.NoError(t, err)
	require.Equal(t, kept, groups[0].Mark)
	one, err := l.ErrorGroup(t.Context(), g.Type, g.Fingerprint)
	require.NoError(t, err)
	require.Equal(t, kept, one.Mark)

	other := l.diesOf("disk full")
	require.Equal(t, other.LastAt, latest(now), "another is not")
	_, err = mark(GroupMark{Name: "the old switch", Muted: true})
	require.NoError(t, err)
	unmuted, err := mark(GroupMark{Name: "the old switch", MutedUntil: now})
	require.NoError(t, err)
	require.Zero(t, unmuted.MutedUntil)
	entries, err := l.AuditOf(t.Context(), "group", "a/"+g.Fingerprint, 10)
	require.NoError(t, err)
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	require.Equal(t, []string{"unmute", "mark", "mute"}, actions)
	require.JSONEq(t, `{"name":"the old switch","muted":false}`, entries[0].After)
	require.JSONEq(t, `{"name":"the old switch","muted":true}`, entries[0].Before)

	g.Fingerprint = "0000000000000000"
	_, err = mark(GroupMark{Name: "x"})
	require.ErrorIs(t, err, ErrNotFound)
	require.True(t, IsRefusal(err))
}
