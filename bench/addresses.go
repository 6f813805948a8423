package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reax/actors"
	"reax/models"
)

// addresses are the pages and lists that are measured: each page, and each filter alone and with others.
func (s *system) addresses(ctx context.Context) ([]*address, error) {
	var all []*address
	add := func(name, path string, pairs ...string) {
		values := url.Values{}
		for i := 0; i+1 < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		if len(values) > 0 {
			path += "?" + values.Encode()
		}
		all = append(all, &address{name: name, path: path})
	}
	newest, err := s.store.Tasks(ctx, models.Filter{}, 1)
	if err != nil || len(newest) == 0 {
		return nil, fmt.Errorf("reading the newest task: %w", err)
	}
	at := func(share float64) string {
		id := strconv.FormatInt(int64(float64(newest[0].ID)*share), 10)
		return base64.RawURLEncoding.EncodeToString([]byte(id))
	}
	task, err := s.store.Task(ctx, newest[0].ID/2)
	if err != nil {
		return nil, err
	}

	add("overview", "/")
	add("overview, a day", "/", "span", "24h")
	listAddresses(add, at, task)
	for _, state := range models.States {
		found, err := s.store.Tasks(ctx, models.Filter{States: []models.State{state}, Types: taskTypes(state)}, 1)
		if err != nil {
			return nil, err
		}
		for i := range found {
			add("task, "+string(state), fmt.Sprintf("/tasks/%d", found[i].ID))
			add("API: task, "+string(state), fmt.Sprintf("/api/v1/tasks/%d", found[i].ID))
		}
	}
	groups, err := s.store.ErrorGroups(ctx, 1000)
	if err != nil {
		return nil, err
	}
	largest := groups[0]
	for _, g := range groups {
		if g.N > largest.N {
			largest = g
		}
	}
	add("dead", "/dead")
	add("dead, page 40", "/dead", "page", "40")
	add("dead of a type", "/dead", "type", "mail.send")
	add("dead with a text", "/dead", "q", "deadlock")
	add("dead, by type", "/dead", "view", "types")
	add("dead, the largest group", "/dead/"+largest.Type+"/"+largest.Fingerprint)
	add("dead, the largest group, its end", "/dead/"+largest.Type+"/"+largest.Fingerprint, "cursor", at(.02))
	add("dead, the group of the list", "/tasks", "type", largest.Type, "fingerprint", largest.Fingerprint)
	plan, err := s.PlanBulk(ctx, actors.BulkRequest{
		Action: actors.ActionRetry, Change: actors.Change{By: "bench"},
		Filter: &models.Filter{Types: []string{"mail.send"}, States: []models.State{models.StateFailed}},
	})
	if err != nil {
		return nil, err
	}
	add("bulk plan", fmt.Sprint("/bulk/", plan.ID))
	add("audit", "/audit")
	add("audit of an actor that is not", "/audit", "actor", "user:nobody")
	add("audit of an action", "/audit", "action", "discard")
	add("API: audit", "/api/v1/audit")
	add("traces/{id}", "/traces/"+task.TraceID)
	add("API: trace", "/api/v1/traces/"+task.TraceID)
	for _, page := range []string{"/bulk", "/traces", "/schedules", "/schedules/new", "/schedules/plan-3", "/types", "/types/mail.send", "/actors", "/enqueue", "/enqueue/mail.send"} {
		add(strings.TrimPrefix(page, "/"), page)
	}
	add("search, an id", "/search", "q", strconv.FormatInt(task.ID, 10))
	add("search, a trace", "/search", "q", task.TraceID)
	add("search, a text", "/search", "q", "deadlock")
	add("export, first byte", "/tasks/export.csv")
	add("export by duration, first byte", "/tasks/export.csv", "sort", "-duration")
	add("export of a filter, first byte", "/tasks/export.json", "state", "dead", "type", "mail.send")
	for _, path := range []string{"/api/v1/types", "/api/v1/schedules", "/api/v1/stats", "/api/v1/actors", "/healthz", "/metrics"} {
		add("API: "+path, path)
	}
	return all, nil
}

// taskTypes are the types whose tasks of a state stay in it while they are looked at.
func taskTypes(state models.State) []string {
	switch state {
	case models.StateRunning:
		return seedTypes[:1]
	case models.StatePending:
		return pausedTypes
	}
	return nil
}

// listAddresses are those of the list of tasks and of the API's.
func listAddresses(add func(name, path string, pairs ...string), at func(share float64) string, task models.Task) {
	now := time.Now()
	past := func(d time.Duration) string { return now.Add(-d).UTC().Format(time.RFC3339) }
	for _, f := range []struct {
		name  string
		pairs []string
	}{
		{"all", nil},
		{"pending", []string{"state", "pending"}},
		{"running", []string{"state", "running"}},
		{"retry_wait", []string{"state", "retry_wait"}},
		{"success", []string{"state", "success"}},
		{"failed", []string{"state", "failed"}},
		{"dead", []string{"state", "dead"}},
		{"cancelled", []string{"state", "cancelled"}},
		{"deep", []string{"cursor", at(.5)}},
		{"success, deep", []string{"state", "success", "cursor", at(.1)}},
		{"dead, deep", []string{"state", "dead", "cursor", at(.3)}},
		{"type, deep", []string{"type", "mail.send", "cursor", at(.3)}},
		{"type", []string{"type", "mail.send"}},
		{"type and state", []string{"type", "mail.send", "state", "dead"}},
		{"type that is not", []string{"type", "no.such.type"}},
		{"priority", []string{"priority", "8-10"}},
		{"priority of a type", []string{"priority", "1", "type", "audit.archive"}},
		{"priority of a state", []string{"priority", "1-3", "state", "failed"}},
		{"15 minutes", []string{"window", "15m"}},
		{"a day", []string{"window", "24h"}},
		{"a week, dead", []string{"window", "7d", "state", "dead"}},
		{"an hour, type, success", []string{"window", "1h", "type", "report.export", "state", "success"}},
		{"from and to", []string{"from", past(80 * time.Hour), "to", past(79 * time.Hour)}},
		{"from and to, type, failed", []string{"from", past(80 * time.Hour), "to", past(70 * time.Hour), "type", "sync.crm", "state", "failed"}},
		{"trace", []string{"trace_id", task.TraceID}},
		{"tag", []string{"tag", "nightly"}},
		{"rare tag", []string{"tag", "rare"}},
		{"tag that is not", []string{"tag", "absent"}},
		{"tag that is not, of a type", []string{"tag", "absent", "type", "mail.send"}},
		{"tag, dead", []string{"tag", "team-3", "state", "dead"}},
		{"text", []string{"q", "deadlock"}},
		{"text that is not", []string{"q", "no such error"}},
		{"text, dead, a day", []string{"q", "timeout", "state", "dead", "window", "24h"}},
		{"text that is not, of a type", []string{"q", "no such error", "type", "mail.send"}},
		{"id as text", []string{"q", strconv.FormatInt(task.ID, 10)}},
		{"trace as text", []string{"q", task.TraceID[:12]}},
		{"start of many traces as text", []string{"q", task.TraceID[:7]}},
		{"parameter", []string{"params.customer.id", "4417"}},
		{"parameter that is not", []string{"param", "customer.id=-1"}},
		{"parameter that is not, of a type", []string{"param", "customer.id=-1", "type", "mail.send"}},
		{"parameter, dead", []string{"param", "customer.region=cn", "state", "dead"}},
		{"schedule", []string{"schedule", "plan-7"}},
		{"schedule that is not", []string{"schedule", "absent"}},
		{"ended in a minute", []string{"ended_from", past(30 * time.Minute), "ended_to", past(29 * time.Minute)}},
		{"ended in a minute of yesterday", []string{"ended_from", past(30 * time.Hour), "ended_to", past(30*time.Hour - time.Minute)}},
		{"suspected", []string{"suspected", "1"}},
		{"failed and dead of a type, a day", []string{"state", "failed,dead", "type", "mail.send", "window", "24h"}},
		{"sorted by change", []string{"sort", "-changed"}},
		{"sorted by duration", []string{"sort", "-duration"}},
		{"running, the longest first", []string{"state", "running", "sort", "-duration"}},
		{"success, by priority", []string{"state", "success", "sort", "priority"}},
		{"dead, by duration", []string{"state", "dead", "sort", "duration"}},
		{"failed and dead, by change", []string{"state", "failed,dead", "sort", "changed"}},
		{"pending, by priority", []string{"state", "pending", "sort", "priority"}},
		{"type, by duration", []string{"type", "mail.send", "sort", "-duration"}},
		{"tag, by duration", []string{"tag", "nightly", "sort", "-duration"}},
		{"rare tag, by change", []string{"tag", "rare", "sort", "-changed"}},
		{"text, by priority", []string{"q", "deadlock", "sort", "priority"}},
		{"everything", []string{
			"state", "failed,dead", "type", "mail.send", "priority", "1-9", "window", "7d", "tag", "nightly", "q", "HTTP", "param", "customer.region=us",
		}},
	} {
		add("tasks: "+f.name, "/tasks", f.pairs...)
	}
	for _, f := range []struct {
		name  string
		pairs []string
	}{
		{"all", nil},
		{"200 of a state", []string{"state", "dead", "limit", "200"}},
		{"types and states", []string{"type", "mail.send,sync.crm,notify.sms", "state", "success,dead"}},
		{"deep", []string{"cursor", at(.2)}},
		{"tag that is not", []string{"tag", "absent"}},
		{"text", []string{"q", "deadlock", "state", "dead"}},
		{"from", []string{"from", past(time.Hour)}},
		{"200 of a state, by change", []string{"state", "dead", "limit", "200", "sort", "-changed"}},
	} {
		add("API: tasks: "+f.name, "/api/v1/tasks", f.pairs...)
	}
}
