package web

import (
	"context"
	"fmt"
	"strings"

	"reax/actors"
)

// bulkJSON is the body of a bulk action.
type bulkJSON struct {
	Action string      `json:"action" enum:"retry,cancel,discard"`
	IDs    []taskID    `json:"ids,omitempty" minItems:"1" doc:"These tasks; at most 100,000"`
	Filter *FilterJSON `json:"filter,omitempty" doc:"Or all that match now; it must name a state or a type"`
	Reason string      `json:"reason,omitempty" nullable:"true" doc:"For the record; a discard must have one"`
}

func (b *bulkJSON) check(*Server) []fieldError {
	faults := textBytes("/reason", b.Reason, actors.MaxReasonBytes)
	if actors.Action(b.Action) == actors.ActionDiscard && strings.TrimSpace(b.Reason) == "" {
		faults = append(faults, wrong("/reason", "reason"))
	}
	if (b.IDs == nil) == (b.Filter == nil) {
		faults = append(faults, wrong("/ids", "exactly_one", "ids", "filter"))
	}
	if len(b.IDs) > actors.MaxBulkTasks {
		faults = append(faults, wrong("/ids", "max_items", actors.MaxBulkTasks))
	}
	for i, id := range b.IDs {
		if id < 1 {
			faults = append(faults, wrong(fmt.Sprintf("/ids/%d", i), "task_id"))
		}
	}
	if b.Filter != nil {
		f, bad := b.Filter.filter(func(field string) string { return "/filter/" + field })
		faults = append(faults, bad...)
		if len(f.States) == 0 && len(f.Types) == 0 && len(bad) == 0 {
			faults = append(faults, wrong("/filter", "every_task"))
		}
	}
	return faults
}

type bulkInput struct{ Body bulkJSON }

// skipJSON is one task that a bulk action left alone.
type skipJSON struct {
	ID     int64  `json:"id"`
	Reason string `json:"reason"`
}

type bulkOutput struct {
	Body bulkReportJSON
}

// bulkReportJSON says what a bulk action did.
type bulkReportJSON struct {
	ID           int64      `json:"id" doc:"Of the bulk action, which is kept for 90 days; 0 when nothing matched"`
	Matched      int        `json:"matched"`
	Done         int        `json:"done"`
	Skipped      []skipJSON `json:"skipped" nullable:"false" doc:"At most 1,000"`
	SkippedTotal int        `json:"skipped_total"`
}

func (s *Server) bulk(ctx context.Context, in *bulkInput) (*bulkOutput, error) {
	who := callerOf(ctx)
	if err := requireFor(ctx, actors.Action(in.Body.Action)); err != nil {
		return nil, err
	}
	req := actors.BulkRequest{Action: actors.Action(in.Body.Action), Change: changeOf(ctx, strings.TrimSpace(in.Body.Reason))}
	for _, id := range in.Body.IDs {
		req.IDs = append(req.IDs, int64(id))
	}
	if in.Body.Filter != nil {
		f, _ := in.Body.Filter.filter(func(field string) string { return field })
		if err := who.scoped(&f); err != nil {
			return nil, err
		}
		req.Filter = &f
	}
	if err := s.scopedIDs(ctx, req.IDs); err != nil {
		return nil, err
	}
	report, err := s.runtime.Bulk(ctx, req)
	if err != nil {
		return nil, err
	}
	out := &bulkOutput{}
	out.Body.ID, out.Body.Matched, out.Body.Done, out.Body.SkippedTotal = report.ID, report.Matched, report.Done, report.SkippedTotal
	out.Body.Skipped = make([]skipJSON, 0, len(report.Skipped))
	for _, skip := range report.Skipped {
		out.Body.Skipped = append(out.Body.Skipped, skipJSON{skip.ID, skip.Reason})
	}
	return out, nil
}
