package tasks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	cause := errors.New("no route to host")
	again := func(kind string) Verdict { return Verdict{Kind: kind, Retryable: true} }
	final := func(kind string) Verdict { return Verdict{Kind: kind} }
	for _, c := range []struct {
		name   string
		err    error
		normal Verdict
		marked Verdict // with RetryOnlyMarked
	}{
		{"plain", cause, again(KindError), final(KindError)},
		{"permanent", Permanent(cause), final(KindPermanent), final(KindPermanent)},
		{"permanent, wrapped", fmt.Errorf("sending: %w", Permanent(cause)), final(KindPermanent), final(KindPermanent)},
		{"retryable", Retryable(cause), again(KindError), again(KindError)},
		{"retryable, wrapped", fmt.Errorf("sending: %w", Retryable(cause)), again(KindError), again(KindError)},
		{"permanent beats retryable inside", Permanent(Retryable(cause)), final(KindPermanent), final(KindPermanent)},
		{"permanent beats retryable outside", Retryable(Permanent(cause)), final(KindPermanent), final(KindPermanent)},
		{"joined, one permanent", errors.Join(Retryable(cause), Permanent(cause)), final(KindPermanent), final(KindPermanent)},
		{"joined, one retryable", errors.Join(cause, Retryable(cause)), again(KindError), again(KindError)},
		{"retry after", RetryAfter(cause, time.Minute), Verdict{KindError, true, time.Minute, true}, Verdict{KindError, true, time.Minute, true}},
		{"retry after, negative", RetryAfter(cause, -time.Minute), Verdict{KindError, true, 0, true}, Verdict{KindError, true, 0, true}},
		{"retry after, endless", RetryAfter(cause, math.MaxInt64), Verdict{KindError, true, MaxBackoff, true}, Verdict{KindError, true, MaxBackoff, true}},
		{"deadline of the run", ErrTimeout, again(KindTimeout), final(KindTimeout)},
		{"deadline of a context", fmt.Errorf("calling: %w", context.DeadlineExceeded), again(KindTimeout), final(KindTimeout)},
		{"deadline, marked", Retryable(context.DeadlineExceeded), again(KindTimeout), again(KindTimeout)},
		{"panic", NewPanicError("boom", nil), again(KindPanic), final(KindPanic)},
		{"goexit", ErrGoexit, again(KindGoexit), final(KindGoexit)},
		{"parameters", Invalid("/a", "required"), final(KindParams), final(KindParams)},
		{"parameters, marked in vain", Retryable(Invalid("/a", "required")), final(KindParams), final(KindParams)},
		{"result", fmt.Errorf("%w: cycle", ErrResult), final(KindResult), final(KindResult)},
		{"error with panicking methods", hostileError{}, again(KindError), final(KindError)},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.normal, Judge(c.err, DefaultPolicy()))
			p := DefaultPolicy()
			p.RetryOnlyMarked = true
			require.Equal(t, c.marked, Judge(c.err, p))
		})
	}
}

type hostileError struct{}

func (hostileError) Error() string { panic("no text") }
func (hostileError) Is(error) bool { panic("no identity") }

func TestAMarkOnNoErrorIsNoError(t *testing.T) {
	require.NoError(t, Permanent(nil))
	require.NoError(t, Retryable(nil))
	require.NoError(t, RetryAfter(nil, time.Second))
}

func TestAMarkKeepsTheErrorsTextAndIdentity(t *testing.T) {
	for _, err := range []error{Permanent(context.Canceled), Retryable(context.Canceled), RetryAfter(context.Canceled, 1)} {
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, context.Canceled.Error(), err.Error())
	}
}

func TestErrorTextOfHostileErrors(t *testing.T) {
	require.Empty(t, ErrorText(nil))
	require.Equal(t, "plain", ErrorText(errors.New("plain")))
	require.Equal(t, "a\uFFFDb\uFFFDc", ErrorText(errors.New("a\x00b\xffc")))
	require.Contains(t, ErrorText(hostileError{}), "cannot be shown")
	var typed *PanicError // the usual Go trap: an interface that holds a nil pointer
	require.Contains(t, ErrorText(typed), "cannot be shown")
	long := strings.Repeat("\x00", 70_000)
	require.Len(t, ErrorText(errors.New(long)), 3*len(long))
}

func TestPanicErrorIsBoundedAndStorable(t *testing.T) {
	e := NewPanicError(strings.Repeat("語", 400_000)+"\x00", []byte(strings.Repeat("main.go:1\n\xff", 10_000)))
	require.LessOrEqual(t, len(e.Value), MaxPanicBytes)
	require.LessOrEqual(t, len(e.Stack), MaxStackBytes)
	require.True(t, utf8.ValidString(e.Value) && utf8.ValidString(e.Stack))
	require.True(t, strings.HasPrefix(e.Error(), "panic: 語"))
	require.Equal(t, "panic: 42", NewPanicError(42, nil).Error())
	require.Contains(t, NewPanicError(hostileError{}, nil).Error(), "cannot be shown")
}
