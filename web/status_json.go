package web

import (
	"time"

	"reax/models"
	"reax/views"
)

// statusAnswerJSON is the status page for programs.
type statusAnswerJSON struct {
	Status      views.StatusWord     `json:"status"`
	Text        string               `json:"text"`
	UpdatedAt   moment               `json:"updated_at"`
	Stale       bool                 `json:"stale"`
	Groups      []statusGroupJSON    `json:"groups"`
	Incidents   []statusIncidentJSON `json:"incidents"`
	Maintenance []statusIncidentJSON `json:"maintenance"`
	Past        []statusIncidentJSON `json:"past"`
}

type statusGroupJSON struct {
	Name        string           `json:"name"`
	Status      views.StatusWord `json:"status"`
	Text        string           `json:"text"`
	SuccessRate *float64         `json:"success_rate"` // null when too little ran
	Waiting     float64          `json:"waiting_s"`
	Days        []statusDayJSON  `json:"days"`
}

type statusDayJSON struct {
	Date        string           `json:"date"`
	Status      views.StatusWord `json:"status"`
	SuccessRate *float64         `json:"success_rate"`
	SlowMinutes int64            `json:"slow_minutes"`
}

type statusIncidentJSON struct {
	Kind     string             `json:"kind"`
	Title    string             `json:"title"`
	Severity string             `json:"severity,omitempty"`
	State    string             `json:"state"`
	Groups   []string           `json:"groups"` // none is all
	BeginsAt moment             `json:"begins_at"`
	EndsAt   *moment            `json:"ends_at"`
	Updates  []statusUpdateJSON `json:"updates"`
}

type statusUpdateJSON struct {
	At    moment `json:"at"`
	State string `json:"state"`
	Text  string `json:"text"`
}

func (s *Server) statusJSON(facts *views.Status, l views.Locale) statusAnswerJSON {
	a := statusAnswerJSON{Status: facts.Word, Text: facts.Word.Sentence(l), UpdatedAt: moment(facts.UpdatedAt), Stale: facts.Age > 0, Groups: []statusGroupJSON{}}
	for i := range facts.Groups {
		g := &facts.Groups[i]
		group := statusGroupJSON{Name: g.GroupName(l), Status: g.Word, Text: g.Word.Text(l), Waiting: g.Oldest.Truncate(time.Second).Seconds(), Days: []statusDayJSON{}}
		if g.Enough {
			group.SuccessRate = share(g.Good, g.All)
		}
		for _, d := range g.Days {
			group.Days = append(group.Days, statusDayJSON{Date: d.Date, Status: d.Word, SuccessRate: share(d.Good, d.All), SlowMinutes: d.Slow})
		}
		a.Groups = append(a.Groups, group)
	}
	a.Incidents, a.Maintenance, a.Past = incidentsJSON(facts.Open), incidentsJSON(facts.Planned), incidentsJSON(facts.Past)
	return a
}

// share is a part of all, cut to three digits; nil of nothing.
func share(good, all int64) *float64 {
	if all <= 0 {
		return nil
	}
	part := float64(good*1000/all) / 1000
	return &part
}

func incidentsJSON(incidents []models.Incident) []statusIncidentJSON {
	all := []statusIncidentJSON{}
	for i := range incidents {
		in := &incidents[i]
		one := statusIncidentJSON{Kind: in.Kind, Title: in.Title, Severity: in.Severity, State: in.State, Groups: append([]string{}, in.Affected.Names()...),
			BeginsAt: moment(in.BeginsAt), Updates: []statusUpdateJSON{}}
		if in.EndsAt != 0 {
			end := moment(in.EndsAt)
			one.EndsAt = &end
		}
		for _, u := range in.Updates {
			one.Updates = append(one.Updates, statusUpdateJSON{At: moment(u.At), State: u.State, Text: u.Text})
		}
		all = append(all, one)
	}
	return all
}
