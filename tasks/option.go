package tasks

import "time"

// Option changes what Register would take by default. What makes no sense is an error of the Registry.
type Option func(*Definition)

// Timeout limits each run; 0 means no limit.
func Timeout(d time.Duration) Option { return func(t *Definition) { t.Policy.Timeout = d } }

// MaxRetries is how many runs may follow the first, so 3 means up to 4 runs.
func MaxRetries(n int) Option { return func(t *Definition) { t.Policy.MaxRetries = n } }

// Backoff is the wait before the first retry, doubled for each further one, and its limit.
func Backoff(base, limit time.Duration) Option {
	return func(t *Definition) { t.Policy.BackoffBase, t.Policy.BackoffMax = base, limit }
}

// Priority is that of a task whose enqueue names none: 1 (most urgent) to 10.
func Priority(n int) Option { return func(t *Definition) { t.Policy.Priority = n } }

// Concurrency is how many tasks of the type run at one time.
func Concurrency(n int) Option { return func(t *Definition) { t.Policy.Concurrency = n } }

// RetryOnlyMarked turns the rule for errors round: only what Retryable or RetryAfter marked is retried.
func RetryOnlyMarked() Option { return func(t *Definition) { t.Policy.RetryOnlyMarked = true } }

// OnCrash says what becomes of a task whose process died while it ran.
func OnCrash(p CrashPolicy) Option { return func(t *Definition) { t.Policy.OnCrash = p } }

// Describe says in a sentence or two what the type does, for the people who run it.
func Describe(text string) Option { return func(t *Definition) { t.Description = text } }

// Internal is for types whose tasks reax itself makes: nobody else can enqueue one, and forms do not offer it. To retry or
// repeat one as it is stays possible.
func Internal() Option { return func(t *Definition) { t.Internal = true } }
