package web

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

// typeJSON is a task type as the API shows it.
type typeJSON struct {
	Name        string                 `json:"name"`
	Registered  bool                   `json:"registered" doc:"False: there are tasks of this type, but this process has no handler for them, and they wait"`
	Description string                 `json:"description"`
	Kind        string                 `json:"kind" doc:"go, command or http; empty when not registered"`
	Schema      json.RawMessage        `json:"schema" doc:"The JSON Schema of the parameters"`
	Example     json.RawMessage        `json:"example" doc:"Parameters that fit the schema"`
	Policy      *policyJSON            `json:"policy,omitempty"`
	Pool        poolJSON               `json:"pool"`
	Counts      map[models.State]int64 `json:"counts" doc:"Tasks by state"`
	Paused      bool                   `json:"paused"`
	PauseReason string                 `json:"pause_reason"`
	PausedBy    string                 `json:"paused_by"`
	Internal    bool                   `json:"internal" doc:"reax itself makes its tasks, and nobody else can"`
}

// policyJSON is how the runs of a type are timed, retried and limited.
type policyJSON struct {
	Timeout     *string `json:"timeout" doc:"Limit of one run; null means none"`
	MaxRetries  int     `json:"max_retries"`
	BackoffBase *string `json:"backoff_base" doc:"Wait before the first retry"`
	BackoffMax  *string `json:"backoff_max" doc:"No wait is longer, jitter aside"`
	Priority    int     `json:"priority"`
	Concurrency int     `json:"concurrency" doc:"As registered; pool.concurrency is what holds now"`
	OnCrash     string  `json:"on_crash" enum:"requeue,hold" doc:"What becomes of a task whose process died while it ran"`
	Retry       string  `json:"retry" enum:"all,marked" doc:"Which errors are retried: all but permanent ones, or only those marked as retryable"`
}

// poolJSON is what the workers of a type do at this moment.
type poolJSON struct {
	Concurrency int   `json:"concurrency"`
	Busy        int   `json:"busy"`
	Ready       int64 `json:"ready" doc:"Tasks that wait for a worker"`
	Stuck       int   `json:"stuck" doc:"Handlers that ignored the end of their context and still run"`
}

type typesOutput struct {
	Body typeListJSON
}

// typeListJSON is the answer to a list of types.
type typeListJSON struct {
	Types []typeJSON `json:"types" nullable:"false" doc:"By name"`
}

func (s *Server) listTypes(ctx context.Context, _ *struct{}) (*typesOutput, error) {
	counts, err := s.countsByType(ctx)
	if err != nil {
		return nil, err
	}
	out := &typesOutput{}
	out.Body.Types = []typeJSON{}
	registered := map[string]*tasks.Definition{}
	for _, d := range s.runtime.Registry().All() {
		registered[d.Name] = d
	}
	names := slices.Concat(slices.Collect(maps.Keys(registered)), slices.Collect(maps.Keys(counts)))
	slices.Sort(names)
	who := callerOf(ctx)
	for _, name := range slices.Compact(names) {
		if who.allows(name) != nil {
			continue
		}
		out.Body.Types = append(out.Body.Types, s.typeView(name, registered[name], counts[name]))
	}
	return out, nil
}

func (s *Server) countsByType(ctx context.Context) (map[string]map[models.State]int64, error) {
	counts, err := s.ledger.Counts(ctx)
	if err != nil {
		return nil, err
	}
	byType := map[string]map[models.State]int64{}
	for _, c := range counts {
		if c.N == 0 {
			continue
		}
		if byType[c.Type] == nil {
			byType[c.Type] = map[models.State]int64{}
		}
		byType[c.Type][c.State] = c.N
	}
	return byType, nil
}

func (s *Server) typeView(name string, d *tasks.Definition, counts map[models.State]int64) typeJSON {
	v := typeJSON{Name: name, Counts: map[models.State]int64{}}
	for _, state := range models.States {
		v.Counts[state] = counts[state]
	}
	if pool, ok := s.runtime.Pool(name); ok {
		v.Pool = poolJSON{pool.Concurrency, pool.Busy, pool.Ready, pool.Stuck}
		v.Paused, v.PauseReason, v.PausedBy = pool.Paused, pool.PauseReason, pool.PausedBy
	}
	if d == nil {
		return v
	}
	v.Registered, v.Internal, v.Description, v.Kind, v.Example = true, d.Internal, d.Description, d.Kind, rawJSON(shownExample(d))
	v.Schema = d.Schema.Shown()
	p := d.Policy
	v.Policy = &policyJSON{
		Timeout: durationText(p.Timeout), MaxRetries: p.MaxRetries, BackoffBase: durationText(p.BackoffBase),
		BackoffMax: durationText(p.BackoffMax), Priority: p.Priority, Concurrency: p.Concurrency,
		OnCrash: string(p.OnCrash), Retry: "all",
	}
	if p.RetryOnlyMarked {
		v.Policy.Retry = "marked"
	}
	return v
}

type typeActionInput struct {
	Name string `path:"name" maxLength:"200"`
	Body *reasonJSON
}

// sizeJSON is the body of a resize.
type sizeJSON struct {
	Concurrency wholeNumber `json:"concurrency" minimum:"1" maximum:"10000" doc:"It outlives restarts"`
	Reason      string      `json:"reason,omitempty" nullable:"true" doc:"For the record; at most 1,000 bytes"`
}

func (b *sizeJSON) check(*Server) []fieldError {
	return textBytes("/reason", b.Reason, actors.MaxReasonBytes)
}

type resizeInput struct {
	Name string `path:"name" maxLength:"200"`
	Body sizeJSON
}

type typeOutput struct{ Body typeJSON }

func (s *Server) pauseType(ctx context.Context, in *typeActionInput) (*typeOutput, error) {
	return s.changedType(ctx, in.Name, s.runtime.Pause(ctx, in.Name, changeOf(ctx, in.Body.text())))
}

func (s *Server) resumeType(ctx context.Context, in *typeActionInput) (*typeOutput, error) {
	return s.changedType(ctx, in.Name, s.runtime.Resume(ctx, in.Name, changeOf(ctx, in.Body.text())))
}

func (s *Server) resizeType(ctx context.Context, in *resizeInput) (*typeOutput, error) {
	return s.changedType(ctx, in.Name, s.runtime.Resize(ctx, in.Name, int(in.Body.Concurrency), changeOf(ctx, in.Body.Reason)))
}

// changedType shows a type after a change that gave err.
func (s *Server) changedType(ctx context.Context, name string, err error) (*typeOutput, error) {
	if errors.Is(err, actors.ErrUnknownType) {
		return nil, unknownType(name)
	}
	if err != nil {
		return nil, err
	}
	d, _ := s.runtime.Registry().Lookup(name)
	counts, err := s.countsByType(ctx)
	if err != nil {
		return nil, err
	}
	return &typeOutput{Body: s.typeView(name, d, counts[name])}, nil
}
