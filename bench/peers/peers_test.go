package peers

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestATasksNumberIsFoundWhateverTheOrderOfTheMembers(t *testing.T) {
	body := newBody(4417)
	require.Len(t, body, 60)
	require.True(t, json.Valid(body))
	require.EqualValues(t, 4417, number(body))
	require.EqualValues(t, 4417, number([]byte(`{"seq": "000000000004417", "date": "2026-11-29", "user_id": 1001}`)))
	for _, foreign := range []string{"", "{}", `{"seq"`, `{"seq":"x"}`, `{"seq":"12`} {
		require.EqualValues(t, -1, number([]byte(foreign)))
	}
	args, err := json.Marshal(rawArgs{body})
	require.NoError(t, err)
	var back rawArgs
	require.NoError(t, json.Unmarshal(args, &back))
	require.JSONEq(t, string(body), string(back.body))
}

// halfDone is a system that loses every second task.
type halfDone struct {
	handle func([]byte)
	n      int64
}

func (h *halfDone) enqueue(_ context.Context, body []byte) error { h.n++; h.handle(body); return nil }
func (h *halfDone) done(context.Context) (int64, error)          { return h.n * 2, nil }
func (h *halfDone) close(context.Context) error                  { return nil }
func (h *halfDone) bytes() (int64, error)                        { return 0, nil }

func TestARunFailsWhenTheBooksDoNotAgree(t *testing.T) {
	b := newBook(plan{measure: throughput, tasks: 10})
	var r result
	err := b.throughput(t.Context(), &halfDone{handle: b.handle}, 1, 10, &r)
	require.ErrorContains(t, err, "10 tasks were accepted, and 20 are done")
}

func TestARepeatedRunDoesNotCountAsATask(t *testing.T) {
	b := newBook(plan{measure: throughput, tasks: 10})
	for range 3 {
		b.handle(newBody(7))
	}
	require.EqualValues(t, 1, b.first.Load())
	require.EqualValues(t, 3, b.runs.Load())
}

func TestReaxKeepsItsBooks(t *testing.T) {
	v, err := byKey("reax")
	require.NoError(t, err)
	p := plan{measure: throughput, tasks: 50}
	b := newBook(p)
	s := settings{dir: t.TempDir(), callers: 4, workers: 4, strict: true, handle: b.handle}
	r, err := run(t.Context(), v, s, b, p)
	require.NoError(t, err)
	require.EqualValues(t, 50, r.Tasks)
	require.Zero(t, r.Repeats)
	require.Positive(t, r.Disk)
}

func TestSystemsAreChosenByTheBeginningOfTheirKeys(t *testing.T) {
	vs, err := chosen("river,reax-normal")
	require.NoError(t, err)
	keys := make([]string, len(vs))
	for i, v := range vs {
		keys[i] = v.Key
	}
	require.Equal(t, []string{"reax-normal", "river-postgres", "river-sqlite", "river-sqlite-normal"}, keys)
	_, err = chosen("nobody")
	require.Error(t, err)
}

func TestTheReportHasAMedianForEachFigureAndSaysWhatFailed(t *testing.T) {
	rs := results{
		{"reax", throughput, 8}:         {{Tasks: 10, DoneRate: 9000}, {Tasks: 10, DoneRate: 12000}, {Tasks: 10, DoneRate: 1}},
		{"asynq-always", throughput, 8}: {{Tasks: 10, DoneRate: 1500}, {Error: errors.New("no room <here>").Error()}},
	}
	r := &report{Machine: "a machine", Took: time.Minute, Runs: 3, For: time.Second, Systems: []string{"reax", "asynq-always"}, Callers: []int{8}, results: rs}
	text := r.markdown()
	require.Contains(t, text, "| reax | 0 | 9,000 | 1 | 12,000 | - |")
	require.Contains(t, text, "| asynq, Redis always | 0 | 1,500 | 1,500 | 1,500 | 6.0x |")
	require.Contains(t, text, "failed runs: 1, one of them with: no room <here>")

	chart := r.chart()
	for d := xml.NewDecoder(strings.NewReader(chart)); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.Contains(t, chart, "9,000")
}
