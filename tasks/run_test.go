package tasks

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// memorySink keeps what a run says.
type memorySink struct {
	mu      sync.Mutex
	lines   []LogLine
	percent []int
	notes   []string
}

func (s *memorySink) Log(line LogLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

func (s *memorySink) Progress(percent int, note string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.percent, s.notes = append(s.percent, percent), append(s.notes, note)
}

// texts gives each line as "level text".
func (s *memorySink) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, l := range s.lines {
		out = append(out, l.Level+" "+l.Text)
	}
	return out
}

func TestRunOutsideARunDiscards(t *testing.T) {
	run := RunOf(t.Context())
	require.Equal(t, 1, run.Attempt)
	run.Logger.Info("nowhere")
	run.Progress(1, 2, "nowhere")
	run.Output("stdout", "nowhere")
	run.End()
}

func TestLoggerWritesTheMessageAndItsAttributes(t *testing.T) {
	sink := &memorySink{}
	run := RunOf(WithRun(t.Context(), &Run{TaskID: 1}, sink))
	log := run.Logger
	log.Debug("d")
	log.Info("sent", "to", "a b", "n", 3, "q", `say "x"`+"\n")
	log.With("user", 7).WithGroup("mail").Warn("slow", "took", 2*time.Second, slog.Group("g", "k", true))
	log.Error("broken", "err", errors.New("no route"), "level", "mine", "msg", "mine too")
	log.Log(t.Context(), slog.LevelError+4, "worse")
	log.Log(t.Context(), slog.LevelDebug-4, "too fine")
	log.Info("")
	log.Info("", "only", "attrs")
	require.Equal(t, []string{
		"debug d",
		`info sent to="a b" n=3 q="say \"x\"\n"`,
		"warn slow user=7 mail.took=2s mail.g.k=true",
		`error broken err="no route" level=mine msg="mine too"`,
		"error worse",
		"info ",
		"info only=attrs",
	}, sink.texts())
}

func TestLoggerWritesToTheProgramsLogToo(t *testing.T) {
	var out bytes.Buffer
	base := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo}))
	sink := &memorySink{}
	trace := strings.Repeat("ab", 16)
	ctx, run := NewRun(t.Context(), &Run{TaskID: 12, Type: "report.generate", TraceID: trace, Attempt: 2}, sink, base)
	require.Same(t, run, RunOf(ctx))
	run.Logger.Info("sent", "n", 3)
	run.Logger.Debug("fine")
	run.Output("stdout", "only in the task's log")
	require.Contains(t, out.String(), "msg=sent task_id=12 type=report.generate trace_id="+trace+" attempt=2 n=3")
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
	require.Equal(t, []string{"info sent n=3", "debug fine", "stdout only in the task's log"}, sink.texts())
}

func TestTheProgramsLogGetsSoManyLinesOfARunAndNoMore(t *testing.T) {
	var out bytes.Buffer
	sink := &memorySink{}
	_, run := NewRun(t.Context(), &Run{TaskID: 12}, sink, slog.New(slog.NewTextHandler(&out, nil)))
	logger := run.Logger.With("a", 1)
	for range MaxProgramLines + 10 {
		logger.Info("again")
	}
	require.Len(t, sink.lines, MaxProgramLines+10)
	require.Equal(t, MaxProgramLines, strings.Count(out.String(), "msg=again"))
	require.Equal(t, MaxProgramLines+1, strings.Count(out.String(), "task_id=12"))
	require.Contains(t, out.String(), "level=WARN msg=\"further lines of this run are only in the log of its task\"")
}

func TestLinesCarryTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &memorySink{}
		run := RunOf(WithRun(t.Context(), &Run{}, sink))
		run.Logger.Info("first")
		time.Sleep(time.Second)
		run.Output("stderr", "second")
		require.NoError(t, run.Logger.Handler().Handle(t.Context(), slog.Record{Message: "without a time"}))
		require.Equal(t, time.Second, sink.lines[1].At.Sub(sink.lines[0].At))
		require.Equal(t, sink.lines[1].At, sink.lines[2].At)
	})
}

func TestOutputKnowsTwoStreams(t *testing.T) {
	sink := &memorySink{}
	run := RunOf(WithRun(t.Context(), &Run{}, sink))
	run.Output("stdout", "a")
	run.Output("stderr", "b")
	run.Output("error", "c")
	require.Equal(t, []string{"stdout a", "stderr b", "stdout c"}, sink.texts())
}

func TestProgressIsAPercentage(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		want        int
	}{
		{0, 10, 0}, {1, 3, 33}, {2, 3, 66}, {10, 10, 100}, {11, 10, 100}, {-1, 10, 0}, {5, 0, 0}, {0, 0, 0}, {5, -3, 0}, {-5, -3, 0},
		{999, 1000, 99}, {math.MaxInt64 - 1, math.MaxInt64, 99}, {math.MaxInt64, math.MaxInt64, 100}, {math.MaxInt64 / 2, math.MaxInt64, 50},
		{math.MinInt64, math.MaxInt64, 0}, {math.MaxInt64, math.MinInt64, 0},
	} {
		sink := &memorySink{}
		RunOf(WithRun(t.Context(), &Run{}, sink)).Progress(c.done, c.total, "")
		require.Equal(t, []int{c.want}, sink.percent, "%d of %d", c.done, c.total)
	}
}

func TestNotesAreCutBetweenLetters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		note := rapid.String().Draw(t, "note") + strings.Repeat(rapid.SampledFrom([]string{"語", "é", "x", "\xff", "\x00", "😀"}).Draw(t, "letter"), rapid.IntRange(0, 120).Draw(t, "times"))
		sink := &memorySink{}
		RunOf(WithRun(context.Background(), &Run{}, sink)).Progress(1, 2, note)
		got := sink.notes[0]
		require.LessOrEqual(t, len(got), MaxNoteBytes)
		require.True(t, utf8.ValidString(got))
		require.NotContains(t, got, "\x00")
		if len(note) <= MaxNoteBytes && utf8.ValidString(note) && !strings.Contains(note, "\x00") {
			require.Equal(t, note, got)
		}
	})
}

func TestNothingReachesTheSinkAfterTheEnd(t *testing.T) {
	sink := &memorySink{}
	var program bytes.Buffer
	_, run := NewRun(t.Context(), &Run{}, sink, slog.New(slog.NewTextHandler(&program, nil)))
	logger := run.Logger.With("a", 1)
	run.End()
	run.End()
	logger.Info("late")
	run.Progress(1, 2, "late")
	run.Output("stdout", "late")
	require.Empty(t, sink.lines)
	require.Empty(t, sink.percent)
	require.Contains(t, program.String(), "late", "the program's log still tells of code that outlived its run")
}

func TestARunFromManyGoroutines(t *testing.T) {
	sink := &memorySink{}
	_, run := NewRun(t.Context(), &Run{}, sink, slog.New(slog.DiscardHandler))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				run.Logger.With("g", i).Info("x", "i", i)
				run.Progress(int64(i), 8, "x")
				run.Output("stdout", "x")
			}
		})
	}
	wg.Wait()
	require.Len(t, sink.lines, 800)
	for _, line := range sink.texts() {
		require.Regexp(t, `^(stdout x|info x g=(\d) i=(\d))$`, line)
	}
}
