package tasks

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Kinds of error, as error_kind stores and the pages show them.
const (
	KindError     = "error"     // the handler returned an error
	KindPermanent = "permanent" // the handler said that a retry would not help
	KindParams    = "params"    // the stored parameters do not fit the handler
	KindTimeout   = "timeout"   // the run's deadline passed
	KindPanic     = "panic"     // the handler panicked
	KindGoexit    = "goexit"    // the handler called runtime.Goexit
	KindResult    = "result"    // the handler's result is not JSON
	KindCancelled = "cancelled" // a person stopped it
	KindShutdown  = "shutdown"  // the process stopped
	KindCrash     = "crash"     // the process died
)

// Causes with which a run's context ends: context.Cause(ctx) in a handler tells them apart.
var (
	ErrTimeout   = errors.New("the run's deadline passed")
	ErrCancelled = errors.New("the task was cancelled by a person")
	ErrShutdown  = errors.New("reax is stopping")
	ErrGoexit    = errors.New("the handler called runtime.Goexit")
)

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

type retryableError struct {
	err   error
	after time.Duration
	fixed bool
}

func (e *retryableError) Error() string { return e.err.Error() }
func (e *retryableError) Unwrap() error { return e.err }

// Permanent marks err as one that a retry would not help: the task becomes failed at once. A nil err stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// Retryable marks err as worth a retry, which matters for a type with RetryOnlyMarked. A nil err stays nil.
func Retryable(err error) error {
	if err == nil {
		return nil
	}
	return &retryableError{err: err}
}

// RetryAfter marks err as worth a retry after d, in place of the type's back-off; d is taken as 0 to MaxBackoff. A nil
// err stays nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryableError{err: err, after: min(max(d, 0), MaxBackoff), fixed: true}
}

// Verdict is what a handler's error means for the task.
type Verdict struct {
	Kind      string // one of the error kinds
	Retryable bool
	After     time.Duration // the wait that the handler asked for, if Fixed
	Fixed     bool
}

// Judge reads err, which must not be nil, by the type's policy. Of several marks Permanent wins over Retryable. What is
// not marked, a deadline or a panic too, is retried unless the policy wants marks. An error whose methods panic counts
// as a plain one. Whether a run ended because a person or the process stopped it is not in its error, but in the cause
// of its context, which the runtime reads first.
func Judge(err error, p Policy) (v Verdict) {
	defer func() {
		if recover() != nil {
			v = Verdict{Kind: KindError, Retryable: !p.RetryOnlyMarked}
		}
	}()
	kind, final := kindOf(err)
	if final {
		return Verdict{Kind: kind}
	}
	if again, ok := errors.AsType[*retryableError](err); ok {
		return Verdict{Kind: kind, Retryable: true, After: again.after, Fixed: again.fixed}
	}
	return Verdict{Kind: kind, Retryable: !p.RetryOnlyMarked}
}

// kindOf names the kind of err, and whether it is one that no retry can help.
func kindOf(err error) (kind string, final bool) {
	if _, ok := errors.AsType[*permanentError](err); ok {
		return KindPermanent, true
	}
	if _, ok := errors.AsType[*InvalidError](err); ok {
		return KindParams, true
	}
	if errors.Is(err, ErrResult) {
		return KindResult, true
	}
	if _, ok := errors.AsType[*PanicError](err); ok {
		return KindPanic, false
	}
	switch {
	case errors.Is(err, ErrGoexit):
		return KindGoexit, false
	case errors.Is(err, ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return KindTimeout, false
	}
	return KindError, false
}

// Bounds of what a PanicError keeps.
const (
	MaxPanicBytes = 4 << 10
	MaxStackBytes = 16 << 10
)

// PanicError is a handler's panic as the error of its run.
type PanicError struct {
	Value string // what was panicked with
	Stack string // of the goroutine that panicked
}

// NewPanicError takes what recover returned and the goroutine's stack. It bounds both and makes them storable.
func NewPanicError(value any, stack []byte) *PanicError {
	var text string
	if err, ok := value.(error); ok {
		text = ErrorText(err)
	} else {
		text = fmt.Sprint(value)
	}
	kept := stack[:min(len(stack), MaxStackBytes+utf8.UTFMax)]
	return &PanicError{Value: cleanText(text, MaxPanicBytes), Stack: cleanText(string(kept), MaxStackBytes)}
}

func (e *PanicError) Error() string { return "panic: " + e.Value }
