package web

import (
	"context"
	"net/http"

	"reax/actors"
)

// healthJSON is how reax is. It is public: it says nothing of any task.
type healthJSON struct {
	Status        string   `json:"status" enum:"ok,degraded,draining,down" doc:"degraded still works and answers 200; draining and down answer 503"`
	Backlog       int64    `json:"backlog" doc:"Tasks that are ready to run"`
	OldestWaitS   float64  `json:"oldest_wait_s" doc:"How long the oldest of them has waited"`
	WorkersBusy   int      `json:"workers_busy"`
	WorkersTotal  int      `json:"workers_total"`
	SuccessRate5m *float64 `json:"success_rate_5m" doc:"Of the runs that ended in the last five minutes; null when none did"`
	Database      string   `json:"database" doc:"ok, or what is wrong with it"`
	Reasons       []string `json:"reasons" nullable:"false" doc:"Why the status is not ok"`
}

type healthOutput struct {
	Status int
	Body   healthJSON
}

func healthView(h actors.Health) healthJSON {
	v := healthJSON{
		Status: h.Status, Backlog: h.Backlog, OldestWaitS: h.OldestWait.Seconds(), WorkersBusy: h.WorkersBusy,
		WorkersTotal: h.WorkersTotal, Database: "ok", Reasons: append([]string{}, h.Reasons...),
	}
	if h.Finished5m > 0 {
		v.SuccessRate5m = &h.SuccessRate5m
	}
	if !h.DatabaseOK {
		v.Database = h.DatabaseReason
		if v.Database == "" {
			v.Database = "not available"
		}
	}
	return v
}

// getHealth is 503 while draining as well: a balancer should send its requests elsewhere before they are refused. It
// reads a snapshot and asks neither an actor nor the database, so it answers when they cannot.
func (s *Server) getHealth(context.Context, *struct{}) (*healthOutput, error) {
	out := &healthOutput{Status: http.StatusOK, Body: healthView(s.runtime.Health())}
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
