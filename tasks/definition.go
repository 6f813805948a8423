// Package tasks says what a task type is: its name, its parameters and their schema, its policy, and the handler that
// does the work. It knows no database and no actor.
package tasks

import (
	"context"
	"encoding/json"
	"time"
)

// Handler does the work of one run. It must return soon after ctx ends. The result is any JSON value, or nil.
// It may panic or call runtime.Goexit: that ends the run, never the process.
type Handler func(ctx context.Context, params json.RawMessage) (result json.RawMessage, err error)

// Definition is one task type. It does not change once it is in a Registry.
type Definition struct {
	Name        string
	Description string
	Kind        string // KindGo, KindCommand or KindHTTP
	Schema      *Schema
	Example     json.RawMessage // parameters that pass the schema, for people to start from
	Policy      Policy
	Handler     Handler
	Internal    bool // reax makes its tasks itself, and nobody else can
}

// Kinds of handler behind a type.
const (
	KindGo      = "go"
	KindCommand = "command"
	KindHTTP    = "http"
)

// CrashPolicy says what becomes of a task whose process died while it ran.
type CrashPolicy string

// The two crash policies.
const (
	Requeue CrashPolicy = "requeue" // put it back; the handler must bear a second run
	Hold    CrashPolicy = "hold"    // park it as failed for a person to decide
)

// Policy is how the runs of a type are timed, retried and limited.
type Policy struct {
	Timeout         time.Duration // of one run; 0 means none
	MaxRetries      int           // runs after the first
	BackoffBase     time.Duration // wait before the first retry
	BackoffMax      time.Duration // no wait is planned longer than this, jitter aside
	Priority        int           // 1 (most urgent) to 10
	Concurrency     int           // runs at one time
	RetryOnlyMarked bool          // retry only what Retryable or RetryAfter marked
	OnCrash         CrashPolicy
}

// Defaults of a Policy.
const (
	DefaultMaxRetries  = 3
	DefaultBackoffBase = 10 * time.Second
	DefaultBackoffMax  = 120 * time.Second
	DefaultPriority    = 5
	DefaultConcurrency = 4
)

// Bounds of a Policy and of what an enqueue may override.
const (
	MaxConcurrency = 10_000
	MaxRetriesCap  = 1_000
	MaxTimeout     = 30 * 24 * time.Hour
	MaxBackoff     = 30 * 24 * time.Hour
)

// DefaultPolicy is the Policy of a type that says nothing of its own.
func DefaultPolicy() Policy {
	return Policy{
		MaxRetries: DefaultMaxRetries, BackoffBase: DefaultBackoffBase, BackoffMax: DefaultBackoffMax,
		Priority: DefaultPriority, Concurrency: DefaultConcurrency, OnCrash: Requeue,
	}
}
