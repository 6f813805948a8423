package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"text/template"

	"reax/tasks"
)

// parse reads the template of a webhook. json writes any value as JSON.
func (r *Receiver) parse() (*template.Template, error) {
	if len(r.Template) > maxTemplate {
		return nil, fmt.Errorf("template: longer than %d bytes", maxTemplate)
	}
	t, err := template.New("template").Option("missingkey=error").Funcs(template.FuncMap{
		"json": func(v any) (string, error) {
			text, err := encode(v)
			return string(text), err
		},
	}).Parse(r.Template)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	return t, nil
}

func (r *Receiver) isJSON() bool {
	if r.ContentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(r.ContentType)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// render makes the body of a message.
func (r *Receiver) render(m Message) ([]byte, error) {
	t, err := r.parse()
	if err != nil {
		return nil, err
	}
	b := &limited{}
	if err := t.Execute(b, m); err != nil {
		return nil, fmt.Errorf("filling in the template: %w", err)
	}
	if r.isJSON() && !json.Valid(b.Bytes()) {
		return nil, errors.New("the template gives no valid JSON: write texts with json, as in {\"text\": {{json .Text}}}")
	}
	return b.Bytes(), nil
}

// checkTemplate tries the template on one message of each event.
func (r *Receiver) checkTemplate() error {
	if r.Template == "" {
		return errors.New("a webhook needs a template; json is the kind without one")
	}
	if _, _, err := mime.ParseMediaType(r.ContentType); r.ContentType != "" && err != nil {
		return errors.New("content_type: not a media type")
	}
	c := Config{PublicURL: "https://reax.example.com"}
	for _, event := range []string{tasks.NoticeBegin, tasks.NoticeRepeat, tasks.NoticeEnd, tasks.NoticeTest} {
		sample := tasks.Notice{
			Receiver: r.Name, Event: event, Alert: 1, Rule: "sample", Kind: "dead", Since: "2026-01-31T09:30:00Z", Until: "2026-01-31T09:45:00Z",
			Facts: tasks.NoticeFacts{Name: "report", Error: `"quoted" \ <b>`, Fingerprint: "0123456789abcdef", Task: 1, Count: 2},
		}
		if _, err := r.render(c.message(sample)); err != nil {
			return err
		}
	}
	return nil
}

// limited is a buffer that a template cannot make grow without end.
type limited struct{ bytes.Buffer }

func (b *limited) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxBody {
		return 0, fmt.Errorf("more than %d bytes", maxBody)
	}
	return b.Buffer.Write(p)
}
