package actors

import (
	"encoding/json"
	"fmt"
	"time"

	"reax/models"
	"reax/tasks"
)

// nextAlert is what becomes of an alert, or of what may become one, now. found is nil when the rule no longer finds it, rule
// when there is none any more; was is the zero Alert when it is new. The event is what is to be told; empty is nothing. It
// decides everything by what is in the ledger, so that a new life of the actor goes on where the former one ended.
func nextAlert(rule *AlertRule, was models.Alert, found *finding, now models.Instant, muted bool) (next models.Alert, event string, forget bool) {
	next = was
	switch {
	case was.ID == 0:
		if found != nil && found.holds {
			next = models.Alert{Rule: rule.Name, Kind: rule.Kind, Key: found.key, Since: now, Facts: factsText(found.facts)}
		}
		return next, "", false
	case was.BeganAt == 0:
		if found == nil || !found.holds {
			return next, "", true
		}
		if now.Sub(was.Since) < rule.For {
			return next, "", false
		}
		next.BeganAt, next.Facts = now, factsText(found.facts)
	case found != nil:
		next.ClearSince = 0
	default:
		if next.ClearSince == 0 {
			next.ClearSince = now
		}
		if rule == nil || now.Sub(next.ClearSince) >= clearAfter(rule) {
			next.EndedAt = now
			if was.ToldAt != 0 {
				return next, tasks.NoticeEnd, false
			}
		}
		return next, "", false
	}
	switch {
	case muted:
	case next.ToldAt == 0:
		event = tasks.NoticeBegin
	case rule.Repeat > 0 && now.Sub(next.ToldAt) >= rule.Repeat:
		event = tasks.NoticeRepeat
	}
	if event != "" {
		next.Facts = factsText(found.facts)
	}
	return next, event, false
}

// clearAfter is how long a rule must not find something before that is over. For dead tasks that time is part of what the
// rule looks at.
func clearAfter(rule *AlertRule) time.Duration {
	if rule.Kind == models.AlertDead {
		return 0
	}
	return rule.ClearAfter
}

func factsText(f models.AlertFacts) string {
	text, err := json.Marshal(f)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// notices are the tasks that tell an event of an alert. Their unique keys keep a message from being made twice.
func (c *core) notices(a *models.Alert, event string, receivers []string) []*models.NewTask {
	var all []*models.NewTask
	for _, name := range receivers {
		if !c.hasReceiver(name) {
			continue // it was taken out of the configuration
		}
		n := tasks.Notice{
			Receiver: name, Event: event, Alert: a.ID, Rule: a.Rule, Kind: a.Kind, Since: clockText(a.Since), Facts: tasks.NoticeFacts(a.Read()),
		}
		if event == tasks.NoticeEnd {
			n.Until = clockText(a.EndedAt)
		}
		params, err := json.Marshal(n)
		if err != nil {
			continue
		}
		task, err := c.prepare(&EnqueueRequest{
			Type: tasks.NoticeType, Params: params, UniqueKey: fmt.Sprintf("alert/%d/%s/%d/%s", a.ID, event, a.ToldAt, name), By: "alerts", own: true,
		})
		if err != nil {
			c.logger.Warn("a message about an alert cannot be made", "rule", a.Rule, "receiver", name, "error", err)
			continue
		}
		all = append(all, task)
	}
	return all
}

func clockText(at models.Instant) string { return at.Time().UTC().Format(time.RFC3339) }
