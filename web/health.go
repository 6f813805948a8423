package web

import (
	"context"
	"net/http"

	"reax/actors"
)

// healthJSON is how reax is. It is public, and to those who may not read the dashboard it names nothing.
type healthJSON struct {
	Status        string   `json:"status" enum:"ok,degraded,draining,down" doc:"degraded still works and answers 200; draining and down answer 503"`
	Backlog       int64    `json:"backlog" doc:"Tasks that are ready to run"`
	OldestWaitS   float64  `json:"oldest_wait_s" doc:"How long the oldest of them has waited"`
	WorkersBusy   int      `json:"workers_busy"`
	WorkersTotal  int      `json:"workers_total"`
	SuccessRate5m *float64 `json:"success_rate_5m" doc:"Of the runs that ended in the last five minutes; null when none did"`
	Database      string   `json:"database" doc:"ok, or what is wrong with it"`
	Reasons       []string `json:"reasons" nullable:"false" doc:"Why the status is not ok, in sentences. Who is not signed in, or has a token for some types only, is told no names"`
	Causes        []string `json:"causes" nullable:"false" doc:"The kind of each reason: stable, programs may rely on it"`
}

type healthOutput struct {
	Status int
	Body   healthJSON
}

func healthView(h actors.Health) healthJSON {
	v := healthJSON{
		Status: h.Status, Backlog: h.Backlog, OldestWaitS: h.OldestWait.Seconds(), WorkersBusy: h.WorkersBusy,
		WorkersTotal: h.WorkersTotal, Database: "ok", Reasons: append([]string{}, h.Reasons...), Causes: []string{},
	}
	for _, c := range h.Causes {
		v.Causes = append(v.Causes, c.Code)
	}
	if h.Finished5m > 0 {
		v.SuccessRate5m = &h.SuccessRate5m
	}
	if !h.DatabaseOK {
		v.Database = h.DatabaseReason
		if v.Database == "" {
			v.Database = unavailable
		}
	}
	return v
}

const unavailable = "not available"

// healthReasons say what each cause is without a name: of a type, a schedule, an actor or a file.
var healthReasons = map[string]string{
	actors.CauseBlocked:    "A task type takes no tasks: its handlers ignore the end of their context.",
	actors.CauseStuck:      "Handlers ignore the end of their context.",
	actors.CauseWaiting:    "Tasks have waited for a worker for too long.",
	actors.CauseNoHandler:  "Tasks wait of a type that this process has no handler for.",
	actors.CauseNoHandlers: "Tasks wait of more types that this process has no handlers for.",
	actors.CauseSchedule:   "A schedule cannot run.",
	actors.CauseSchedules:  "More schedules cannot run.",
	actors.CauseOverdue:    "A schedule was due and has not run.",
	actors.CauseMissed:     "A schedule missed runs.",
	actors.CauseMissedMore: "More schedules missed runs.",
	actors.CauseCrashes:    "Actors crashed and were restarted.",
	actors.CauseBusy:       "An actor has been busy with one message for too long.",
	actors.CauseHung:       "An actor hangs, and no task gets through.",
	actors.CauseFailing:    "Most runs of the last 5 minutes failed.",
	actors.CauseDisk:       "The disk of the database is nearly full.",
	actors.CauseDatabase:   "Nothing can be stored.",
	actors.CauseStopping:   "reax is stopping.",
}

// nameless is the health for those who may not read the dashboard: the same figures, and no name.
func (v healthJSON) nameless() healthJSON {
	v.Reasons = []string{}
	for _, code := range v.Causes {
		v.Reasons = append(v.Reasons, healthReasons[code])
	}
	if v.Database != "ok" {
		v.Database = unavailable
	}
	return v
}

// getHealth is 503 while draining as well: a balancer should send its requests elsewhere before they are refused. It
// reads a snapshot and asks neither an actor nor the database, so it answers when they cannot.
func (s *Server) getHealth(ctx context.Context, _ *struct{}) (*healthOutput, error) {
	out := &healthOutput{Status: http.StatusOK, Body: healthView(s.runtime.Health())}
	if who := callerOf(ctx); !who.role.May(viewer) || len(who.types) > 0 {
		out.Body = out.Body.nameless()
	}
	if out.Body.Status == actors.StatusDown || out.Body.Status == actors.StatusDraining {
		out.Status = http.StatusServiceUnavailable
	}
	return out, nil
}

type readyOutput struct {
	Status int
	Body   readyJSON
}

// readyJSON is whether tasks are accepted.
type readyJSON struct {
	Ready  bool   `json:"ready"`
	Status string `json:"status" enum:"ok,degraded,draining,down"`
}

// getReady says whether a task would be accepted now. It reads the same snapshot as getHealth.
func (s *Server) getReady(context.Context, *struct{}) (*readyOutput, error) {
	h := s.runtime.Health()
	out := &readyOutput{Status: http.StatusOK}
	out.Body.Status = h.Status
	out.Body.Ready = h.DatabaseOK && h.Status != actors.StatusDown && h.Status != actors.StatusDraining
	if !out.Body.Ready {
		out.Status = http.StatusServiceUnavailable
	}
	return out, nil
}
