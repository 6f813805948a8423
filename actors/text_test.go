package actors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// TestBadTextNeverKeepsARunFromEnding: whatever a handler comes back with, its state is written.
func TestBadTextNeverKeepsARunFromEnding(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a€", 500<<10) // 2 MB, and letters of three bytes at every cut
	for name, c := range map[string]struct {
		result string
		err    error
		panics string
		state  models.State
	}{
		"an error with zero bytes":           {err: errors.New("a\x00b\x00"), state: models.StateFailed},
		"an error that is no UTF-8":          {err: errors.New("a\xff\xfe\xed\xa0\x80b"), state: models.StateFailed},
		"an error of 70 MB":                  {err: errors.New(strings.Repeat("0123456789", 7<<20)), state: models.StateFailed},
		"an error of 2 MB of zeros":          {err: errors.New(string(make([]byte, 2<<20))), state: models.StateFailed},
		"an error of long letters":           {err: errors.New(long), state: models.StateFailed},
		"an error of marks":                  {err: errors.New("a" + strings.Repeat("\u0301", 10_000)), state: models.StateFailed},
		"an empty error":                     {err: errors.New(""), state: models.StateFailed},
		"a panic with zero bytes":            {panics: "\x00\xff" + long, state: models.StateFailed},
		"a result with an escaped zero":      {result: `{"a":"\u0000"}`, state: models.StateFailed},
		"a result with half a surrogate":     {result: `{"a":"\ud800"}`, state: models.StateFailed},
		"a result of emoji":                  {result: `"😀😀"`, state: models.StateSuccess},
		"a result of long letters":           {result: `"` + long + `"`, state: models.StateSuccess},
		"a result of 20 MB":                  {result: `"` + strings.Repeat("0123456789", 2<<20) + `"`, state: models.StateSuccess},
		"a result of markup":                 {result: `"` + strings.Repeat(`<\"&`, 50_000) + `"`, state: models.StateSuccess},
		"a result that is no UTF-8":          {result: "\"\xff\"", state: models.StateFailed},
		"a result with a zero byte":          {result: "\"\x00\"", state: models.StateFailed},
		"a result that is no JSON":           {result: `{"a":`, state: models.StateFailed},
		"a result of NaN":                    {result: `NaN`, state: models.StateFailed},
		"a result that is nested too deeply": {result: strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), state: models.StateFailed},
		"a result with a key twice":          {result: `{"a":1,"a":2}`, state: models.StateFailed},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				policy := quick()
				policy.MaxRetries, policy.RetryOnlyMarked = 0, true
				f := start(t, registryOf(t, policy, map[string]handler{"work": func(context.Context, json.RawMessage) (json.RawMessage, error) {
					if c.panics != "" {
						panic(c.panics)
					}
					return json.RawMessage(c.result), c.err
				}}), Options{})
				task := f.enqueue("work")
				pass(time.Second)
				row := f.task(task.ID)
				require.Equal(t, c.state, row.State, row.Error)
				require.True(t, utf8.ValidString(row.Error+row.Result))
				require.NotContains(t, row.Error+row.Result, "\x00")
				require.LessOrEqual(t, len(row.Error), MaxErrorBytes)
				require.LessOrEqual(t, len(row.Result), MaxResultBytes)
				if row.Result != "" {
					require.True(t, json.Valid([]byte(row.Result)))
				}
				if c.result != "" && c.state == models.StateSuccess && len(c.result) < MaxResultBytes {
					require.Equal(t, c.result, row.Result, "byte for byte")
				}
				if len(c.result) > MaxResultBytes || c.err != nil && len(c.err.Error()) > MaxErrorBytes {
					require.Contains(t, row.Error+row.Result, "bytes left out")
				}
				if c.result != "" && c.state == models.StateFailed {
					require.Equal(t, tasks.KindResult, row.ErrorKind)
				}
				for _, a := range f.attempts(task.ID) {
					require.True(t, utf8.ValidString(a.Error+a.Stack))
					require.LessOrEqual(t, len(a.Error)+len(a.Stack), 2*MaxErrorBytes)
				}
				next := f.enqueue("work")
				pass(time.Second)
				require.True(t, f.task(next.ID).State.IsFinal(), "the pool is well")
				require.NotContains(t, strings.Join(f.Health().Reasons, " "), "crashed")
				f.checkCounts()
			})
		})
	}
}

// TestAnEndThatTheLedgerRefusesIsWrittenWithoutItsTexts: the journal finds the run that cannot be stored among others.
func TestAnEndThatTheLedgerRefusesIsWrittenWithoutItsTexts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(time.Second)}), Options{})
		all := f.enqueueMany(several("work", 2))
		pass(100 * time.Millisecond)
		var ends []*models.Completion
		for _, task := range all {
			ends = append(ends, &models.Completion{ID: task.ID, Type: "work", Attempt: 1, State: models.StateDead, Outcome: models.OutcomeDead, Error: "x"})
		}
		// No text is refused by SQLite, so the ledger is made to refuse one.
		require.NoError(t, f.store.Writer().Exec(`CREATE TRIGGER refuse BEFORE UPDATE ON tasks WHEN NEW.error = 'poison'
 BEGIN SELECT RAISE(ABORT, 'no'); END`).Error)
		ends[0].Error = "poison"
		f.sys.Root.Send(f.journal, &FinishRuns{Completions: ends})
		pass(200 * time.Millisecond)
		require.Equal(t, models.StateDead, f.task(all[0].ID).State)
		require.Equal(t, "the error text could not be stored", f.task(all[0].ID).Error)
		require.Equal(t, "x", f.task(all[1].ID).Error)
		f.checkCounts()
	})
}

func TestWhatAnEnqueueMayNotCarry(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
		text := func(n int) string { return strings.Repeat("x", n) }
		var invalid *tasks.InvalidError
		var large *TooLargeError
		for name, c := range map[string]struct {
			req    EnqueueRequest
			field  string // of the fault; empty means that the request is too large
			stored bool
		}{
			"params too large":        {EnqueueRequest{Params: json.RawMessage(`{"a":"` + text(MaxParamsBytes) + `"}`)}, "", false},
			"params just fitting":     {EnqueueRequest{Params: json.RawMessage(`{"a":"` + text(MaxParamsBytes-8) + `"}`)}, "", true},
			"params no JSON":          {EnqueueRequest{Params: json.RawMessage(`{"a":1,}`)}, "/params", false},
			"params no object":        {EnqueueRequest{Params: json.RawMessage(`[1]`)}, "/params", false},
			"params not UTF-8":        {EnqueueRequest{Params: json.RawMessage("{\"a\":\"\xff\"}")}, "/params", false},
			"params too deep":         {EnqueueRequest{Params: json.RawMessage(`{"a":` + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000) + `}`)}, "/params", false},
			"params of numbers":       {EnqueueRequest{Params: json.RawMessage(`{"n":9007199254740993.10}`)}, "", true},
			"priority 11":             {EnqueueRequest{Priority: 11}, "/priority", false},
			"priority -1":             {EnqueueRequest{Priority: -1}, "/priority", false},
			"retries -1":              {EnqueueRequest{MaxRetries: new(-1)}, "/max_retries", false},
			"retries too many":        {EnqueueRequest{MaxRetries: new(tasks.MaxRetriesCap + 1)}, "/max_retries", false},
			"retries 0":               {EnqueueRequest{MaxRetries: new(0)}, "", true},
			"timeout negative":        {EnqueueRequest{Timeout: new(-time.Second)}, "/timeout", false},
			"timeout too long":        {EnqueueRequest{Timeout: new(tasks.MaxTimeout + 1)}, "/timeout", false},
			"key too long":            {EnqueueRequest{UniqueKey: text(MaxUniqueKeyBytes + 1)}, "/unique_key", false},
			"key with a zero":         {EnqueueRequest{UniqueKey: "a\x00"}, "/unique_key", false},
			"key not UTF-8":           {EnqueueRequest{UniqueKey: "\xff\xfe"}, "/unique_key", false},
			"key of marks":            {EnqueueRequest{UniqueKey: "\u202eabc😀"}, "", true},
			"tags too many":           {EnqueueRequest{Tags: strings.Split(text(MaxTags+1), "")}, "/tags", false},
			"tag too long":            {EnqueueRequest{Tags: []string{text(MaxTagBytes + 1)}}, "/tags/0", false},
			"tag empty":               {EnqueueRequest{Tags: []string{"a", ""}}, "/tags/1", false},
			"tag with a line":         {EnqueueRequest{Tags: []string{"a\nb"}}, "/tags/0", false},
			"trace id short":          {EnqueueRequest{TraceID: "abc"}, "/trace_id", false},
			"trace id in capitals":    {EnqueueRequest{TraceID: strings.Repeat("A", 32)}, "/trace_id", false},
			"trace id of zeros":       {EnqueueRequest{TraceID: strings.Repeat("0", 32)}, "/trace_id", false},
			"trace id with markup":    {EnqueueRequest{TraceID: "<script>alert(1)</script>aaaaaaa"}, "/trace_id", false},
			"run in an age":           {EnqueueRequest{RunAt: time.Now().Add(11 * 365 * 24 * time.Hour)}, "/run_at", false},
			"run in the year 1":       {EnqueueRequest{RunAt: time.Time{}.Add(time.Second)}, "", true},
			"several faults, in turn": {EnqueueRequest{Priority: 99, MaxRetries: new(-1)}, "/priority", false},
		} {
			c.req.Type = "work"
			e, err := f.Enqueue(t.Context(), c.req)
			switch {
			case c.stored:
				require.NoError(t, err, name)
				if c.req.Params != nil {
					require.True(t, bytes.Equal(c.req.Params, []byte(f.task(e.Task.ID).Params)), name)
				}
			case c.field == "":
				require.ErrorAs(t, err, &large, name)
			default:
				require.ErrorAs(t, err, &invalid, name)
				require.True(t, strings.HasPrefix(invalid.Fields[0].Location, c.field), "%s: %v", name, invalid.Fields)
			}
		}
		_, err := f.Enqueue(t.Context(), EnqueueRequest{Type: "<img src=x onerror=alert(1)>"})
		require.ErrorIs(t, err, ErrUnknownType)
		pass(time.Minute)
		f.checkCounts()
	})
}

func TestABatchIsStoredWholeOrNotAtAll(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
		_, err := f.EnqueueBatch(t.Context(), []EnqueueRequest{{Type: "work"}, {Type: "nothing"}, {Type: "work", Priority: 77}})
		var batch *BatchError
		require.ErrorAs(t, err, &batch)
		require.Len(t, batch.Errors, 2)
		require.ErrorIs(t, batch.Errors[1], ErrUnknownType)
		require.Contains(t, batch.Errors, 2)
		pass(time.Second)
		require.Empty(t, f.states("work"))
		_, err = f.EnqueueBatch(t.Context(), several("work", MaxBatch+1))
		var large *TooLargeError
		require.ErrorAs(t, err, &large)
		none, err := f.EnqueueBatch(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, none)
		got := f.enqueueMany(several("work", MaxBatch))
		for i := range got[1:] {
			require.Equal(t, got[i].ID+1, got[i+1].ID, "in their order")
			require.Equal(t, i, number(json.RawMessage(got[i].Params)))
		}
	})
}
