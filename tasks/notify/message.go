package notify

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"reax/tasks"
)

// Message is one message in words, before it takes the form of its receiver. Texts may hold anything that a task wrote; they
// are one line each, and no longer than a screen.
type Message struct {
	Event    string            `json:"event"` // begin, repeat, end or test
	Alert    int64             `json:"alert,omitempty"`
	Rule     string            `json:"rule,omitempty"`
	Kind     string            `json:"kind,omitempty"`
	Language string            `json:"language"`
	Title    string            `json:"title"`
	Text     string            `json:"text"` // everything as lines of plain text
	Since    string            `json:"since,omitempty"`
	Until    string            `json:"until,omitempty"`
	URL      string            `json:"url,omitempty"`      // of what it is about on the dashboard
	MuteURL  string            `json:"mute_url,omitempty"` // of the page on which the rule can be muted
	Facts    tasks.NoticeFacts `json:"facts"`

	rows []row
}

// row is one line below the title.
type row struct {
	label, value string
	url          string // of ours; the value is a link to it
}

func (c *Config) message(n tasks.Notice) Message {
	w := words[cmp.Or(c.Language, English)]
	m := Message{
		Event: n.Event, Alert: n.Alert, Rule: oneLine(n.Rule), Kind: oneLine(n.Kind), Language: cmp.Or(c.Language, English),
		Since: n.Since, Until: n.Until, Facts: n.Facts,
	}
	m.Facts.Error, m.Facts.Name = oneLine(m.Facts.Error), oneLine(m.Facts.Name)
	if n.Event == tasks.NoticeTest {
		m.Title = w.events[n.Event]
		m.URL = c.link("/alerts")
		m.rows = append(m.rows, row{value: fmt.Sprintf(w.test, oneLine(n.Receiver))})
		if n.By != "" {
			m.rows = append(m.rows, row{label: w.by, value: oneLine(n.By)})
		}
	} else {
		m.Title = w.events[n.Event] + w.colon + w.subject(n.Kind, m.Facts)
		m.URL, m.MuteURL = c.about(n), c.link("/alerts/"+url.PathEscape(n.Rule))
		m.rows = append(m.rows, row{label: w.rule, value: m.Rule}, row{label: w.since, value: c.clock(n.Since)})
		if n.Event == tasks.NoticeEnd {
			m.rows = append(m.rows, row{label: w.until, value: c.clock(n.Until)})
		}
		label := w.figures
		if n.Event == tasks.NoticeEnd {
			label = w.before
		}
		m.rows = append(m.rows, row{label: label, value: w.figure(n.Kind, m.Facts)})
		if m.Facts.Error != "" {
			m.rows = append(m.rows, row{label: w.err, value: m.Facts.Error})
		}
		if m.Facts.Task > 0 {
			m.rows = append(m.rows, row{label: w.example, value: fmt.Sprintf(w.task, m.Facts.Task), url: c.link(fmt.Sprintf("/tasks/%d", m.Facts.Task))})
		}
	}
	if m.URL != "" {
		m.rows = append(m.rows, row{label: w.dashboard, value: m.URL, url: m.URL})
	}
	if m.MuteURL != "" && n.Event != tasks.NoticeEnd {
		m.rows = append(m.rows, row{label: w.mute, value: m.MuteURL, url: m.MuteURL})
	} else if n.Event == tasks.NoticeBegin || n.Event == tasks.NoticeRepeat {
		m.rows = append(m.rows, row{label: w.mute, value: fmt.Sprintf(w.muteHow, m.Rule)})
	}
	m.Title = "[reax] " + m.Title
	m.Text = m.plain()
	return m
}

// plain is the message as lines of text.
func (m *Message) plain() string {
	w := words[m.Language]
	lines := []string{m.Title}
	for _, r := range m.rows {
		text := r.value
		if r.label != "" {
			text = r.label + w.colon + text
		}
		if r.url != "" && r.url != r.value {
			text += " " + r.url
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// link is the address of a page; empty when nobody has said where the dashboard is.
func (c *Config) link(path string) string {
	if c.PublicURL == "" {
		return ""
	}
	return strings.TrimSuffix(c.PublicURL, "/") + path
}

// about is the page of what an alert is about.
func (c *Config) about(n tasks.Notice) string {
	f := n.Facts
	switch n.Kind {
	case "dead":
		if f.Fingerprint != "" {
			return c.link("/dead/" + url.PathEscape(f.Name) + "/" + url.PathEscape(f.Fingerprint))
		}
		return c.link("/dead")
	case "oldest_wait", "backlog", "success_rate":
		if f.Name != "" {
			return c.link("/types/" + url.PathEscape(f.Name))
		}
	case "schedule_missed":
		return c.link("/schedules/" + url.PathEscape(f.Name))
	case "slow_run":
		if f.Task > 0 {
			return c.link(fmt.Sprintf("/tasks/%d", f.Task))
		}
	case "restarts":
		return c.link("/actors")
	}
	return c.link("/")
}

// clock is an instant as people read it.
func (c *Config) clock(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "–"
	}
	zone := c.Zone
	if zone == nil {
		zone = time.Local
	}
	return t.In(zone).Format("2006-01-02 15:04:05 MST")
}

// oneLine takes out what would make more lines, or turn the text round, and cuts what is too long.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		if unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))), " ")
	if len(text) <= maxError {
		return text
	}
	return strings.ToValidUTF8(text[:maxError], "") + "…"
}
