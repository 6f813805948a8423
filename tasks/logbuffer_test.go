package tasks

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// batches keeps what a LogBuffer delivers.
type batches struct {
	mu  sync.Mutex
	all [][]SeqLine
}

func (b *batches) deliver(lines []SeqLine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, lines)
}

func (b *batches) sizes() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	var sizes []int
	for _, lines := range b.all {
		sizes = append(sizes, len(lines))
	}
	return sizes
}

func (b *batches) lines() []SeqLine {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Concat(b.all...)
}

func logN(b *LogBuffer, n int) {
	for i := range n {
		b.Log(LogLine{Level: "info", Text: fmt.Sprint(i + 1)})
	}
}

func TestLinesGoOutInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out batches
		b := NewLogBuffer(out.deliver)
		logN(b, 2)
		time.Sleep(logDelay - 1)
		synctest.Wait()
		require.Empty(t, out.sizes(), "before the delay")
		logN(b, 1)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, []int{3}, out.sizes(), "the delay counts from the first line")
		logN(b, 70)
		require.Equal(t, []int{3, 64}, out.sizes(), "a full batch does not wait")
		time.Sleep(logDelay)
		synctest.Wait()
		require.Equal(t, []int{3, 64, 6}, out.sizes())
		time.Sleep(time.Hour)
		synctest.Wait()
		logN(b, 1)
		b.Close()
		require.Equal(t, []int{3, 64, 6, 1}, out.sizes())
		b.Close()
		logN(b, 500)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []int{3, 64, 6, 1}, out.sizes(), "nothing after the end")
	})
}

func TestALogKeepsItsHeadAndItsTail(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 499, 500, 501, 999, 1000, 1001, 1002, 1499, 1500, 1501, 12_345} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var out batches
			b := NewLogBuffer(out.deliver)
			logN(b, n)
			b.Close()
			lines := out.lines()
			var want []string
			for i := range min(n, logHalf) {
				want = append(want, fmt.Sprintf("%d info %d", i+1, i+1))
			}
			tail := logHalf
			if n > MaxLogLines {
				tail-- // the line that says so counts too
				bytes := 0
				for i := logHalf; i < n-tail; i++ {
					bytes += len(fmt.Sprint(i + 1))
				}
				want = append(want, fmt.Sprintf("501 warn … %d lines of %d bytes left out …", n-MaxLogLines+1, bytes))
			}
			for i := max(n-tail, logHalf); i < n; i++ {
				want = append(want, fmt.Sprintf("%d info %d", i+1, i+1))
			}
			var got []string
			for _, l := range lines {
				got = append(got, fmt.Sprintf("%d %s %s", l.Seq, l.Level, l.Text))
			}
			require.Equal(t, want, got)
			require.LessOrEqual(t, len(got), MaxLogLines)
		})
	}
}

func TestAMillionLinesKeepNoMemory(t *testing.T) {
	var out batches
	b := NewLogBuffer(out.deliver)
	long := strings.Repeat("x", 1<<20)
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	for range 1_000_000 {
		b.Log(LogLine{Level: "stdout", Text: "a line of a chatty command"})
	}
	for range 2_000 {
		b.Log(LogLine{Level: "stdout", Text: long + "x"[:0]})
	}
	require.Less(t, int64(live())-int64(before), int64(8<<20), "500 lines of 4 KiB, and not the megabytes that they were cut from")
	b.Close()
	require.Len(t, out.lines(), MaxLogLines)
	require.Equal(t, 1_002_000, out.lines()[MaxLogLines-1].Seq)
}

func TestLinesAreCutAndCleaned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.SampledFrom([]string{"語", "é", "x", "\xff", "\x00", "😀", "\xe8\xaa"}).Draw(t, "letter"), rapid.IntRange(0, 5_000).Draw(t, "times")) +
			string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes"))
		var out batches
		b := NewLogBuffer(out.deliver)
		b.Log(LogLine{Text: text})
		b.Close()
		got := out.lines()[0].Text
		require.LessOrEqual(t, len(got), MaxLogLineBytes)
		require.True(t, utf8.ValidString(got))
		require.NotContains(t, got, "\x00")
		if came := len(strings.TrimRight(text, "\r\n")); came > MaxLogLineBytes {
			require.Regexp(t, `… \(\d+ bytes left out\)$`, got)
		}
		if plain := strings.TrimRight(text, "\r\n"); len(plain) <= MaxLogLineBytes && utf8.ValidString(plain) && !strings.Contains(plain, "\x00") {
			require.Equal(t, plain, got)
		}
	})
}

func TestBatchesStayInOrderUnderManyLoggers(t *testing.T) {
	var out batches
	b := NewLogBuffer(out.deliver)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 300 {
				b.Log(LogLine{Text: "x"})
				if rand.IntN(50) == 0 {
					b.flush()
				}
			}
		})
	}
	wg.Wait()
	b.Close()
	last := 0
	for _, l := range out.lines() {
		require.Greater(t, l.Seq, last)
		last = l.Seq
	}
	require.Equal(t, 2_400, last)
	require.Len(t, out.lines(), MaxLogLines)
}

func TestCloseWaitsForABatchOnItsWay(t *testing.T) {
	started, release, logged := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var out batches
	b := NewLogBuffer(func(lines []SeqLine) {
		if len(lines) == logBatch {
			close(started)
			<-release
		}
		out.deliver(lines)
	})
	go func() { logN(b, logBatch); close(logged) }()
	<-started
	logN(b, 1) // not held up by the batch on its way
	go close(release)
	b.Close()
	require.Equal(t, []int{logBatch, 1}, out.sizes())
	<-logged
}
