// Package notify sends messages about alerts: to a webhook, to the chat services that people use, and by mail. It is the
// handler of one task type, so that a message is retried, limited and visible as every task is.
package notify

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"reax/tasks"
)

// Kinds of receivers.
const (
	KindJSON     = "json"     // a POST of everything, as JSON
	KindWebhook  = "webhook"  // a POST of what a template makes
	KindSlack    = "slack"    // Slack, Mattermost and what takes the same
	KindDingTalk = "dingtalk" // a custom robot of DingTalk
	KindWeCom    = "wecom"    // a group robot of WeCom
	KindFeishu   = "feishu"   // a custom bot of Feishu or Lark
	KindMail     = "mail"     // SMTP
)

// Kinds are all kinds of receivers.
var Kinds = []string{KindJSON, KindWebhook, KindSlack, KindDingTalk, KindWeCom, KindFeishu, KindMail}

// Languages that messages can be in.
const (
	English = "en"
	Chinese = "zh"
)

// Receiver is somebody who is told of alerts. Secrets are in it as they are: it is never stored or shown.
type Receiver struct {
	Name        string
	Kind        string
	URL         string            // of all kinds but mail; it is a secret for most
	Secret      string            // of json and webhook: the key of X-Reax-Signature; of dingtalk and feishu: that of their signature
	Headers     map[string]string // of json and webhook
	Template    string            // of webhook: a Go text/template
	ContentType string            // of webhook; empty is application/json
	Mail        Mail
}

// Config is what messages need to know beside their own facts.
type Config struct {
	Receivers []Receiver
	Language  string            // English or Chinese; empty is English
	PublicURL string            // of the dashboard; empty leaves links out
	Zone      *time.Location    // of the times in messages; nil is the local one
	Hosts     []tasks.HostRules // where messages may go; all of them must be kept
}

// Bounds of messages and their runs.
const (
	MaxReceivers = 50

	maxBody     = 256 << 10 // bytes that a template may make
	maxTemplate = 64 << 10
	maxError    = 500 // bytes of an error in a message
	sendTimeout = 30 * time.Second
	maxRetries  = 8
)

// Validate says what cannot work, and of which receiver. The error holds no secret.
func (c Config) Validate() error {
	if len(c.Receivers) > MaxReceivers {
		return fmt.Errorf("there are more than %d receivers", MaxReceivers)
	}
	for i := range c.Receivers {
		if err := c.Receivers[i].Validate(c.Hosts); err != nil {
			return fmt.Errorf("receiver %s: %w", c.Receivers[i].Name, err)
		}
	}
	return nil
}

// Validate says what cannot work in r. The error holds no secret.
func (r *Receiver) Validate(hosts []tasks.HostRules) error {
	if err := tasks.CheckName(r.Name); err != nil {
		return err
	}
	if !slices.Contains(Kinds, r.Kind) {
		return fmt.Errorf("the kind %q is not one of %s", r.Kind, strings.Join(Kinds, ", "))
	}
	if r.Kind == KindMail {
		return r.Mail.validate()
	}
	if r.Kind == KindWebhook {
		if err := r.checkTemplate(); err != nil {
			return err
		}
	} else if r.Template != "" || r.ContentType != "" {
		return errors.New("template and content_type are only for a webhook")
	}
	if len(r.Headers) > 0 && r.Kind != KindJSON && r.Kind != KindWebhook {
		return errors.New("headers are only for json and webhook")
	}
	if r.Secret != "" && (r.Kind == KindSlack || r.Kind == KindWeCom) {
		return errors.New("a secret is not for slack and wecom: theirs is in the url")
	}
	h, err := r.endpoint(hosts, time.Time{})
	if err != nil {
		return err
	}
	if err := h.Validate(); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "http: "))
	}
	return nil
}

// Register adds the task type that sends to the receivers, if there are any.
func Register(r *tasks.Registry, c Config) error {
	if len(c.Receivers) == 0 {
		return nil
	}
	if err := c.Validate(); err != nil {
		return err
	}
	tasks.Register(r, tasks.NoticeType, c.send, tasks.Timeout(sendTimeout), tasks.MaxRetries(maxRetries), tasks.Backoff(10*time.Second, 10*time.Minute),
		tasks.Priority(1), tasks.Concurrency(4), tasks.Internal(), tasks.Describe("Sends a message about an alert. reax makes these tasks itself."))
	return r.Err()
}

// Sent is the result of a message that was taken.
type Sent struct {
	To     string `json:"to"`
	Answer any    `json:"answer,omitempty"`
}

// send is the handler. A panic must be an error here: the crash of a worker is something that alerts look at.
func (c Config) send(ctx context.Context, n tasks.Notice) (sent Sent, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("sending the message panicked: %v", v)
		}
	}()
	i := slices.IndexFunc(c.Receivers, func(r Receiver) bool { return r.Name == n.Receiver })
	if i < 0 {
		return sent, tasks.Permanent(fmt.Errorf("the configuration has no receiver %q", n.Receiver))
	}
	r := &c.Receivers[i]
	m := c.message(n)
	sent.To = r.Name
	if r.Kind == KindMail {
		return sent, c.mail(ctx, &r.Mail, m)
	}
	now := time.Now()
	body, err := r.body(m, now)
	if err != nil {
		return sent, tasks.Permanent(err)
	}
	h, err := r.endpoint(c.Hosts, now)
	if err != nil {
		return sent, tasks.Permanent(err)
	}
	answer, err := h.Post(ctx, body)
	if err != nil {
		return sent, err
	}
	if len(answer) > 0 {
		sent.Answer = answer
	}
	return sent, r.refused(answer)
}

// endpoint is where a message goes at a moment.
func (r *Receiver) endpoint(hosts []tasks.HostRules, now time.Time) (tasks.HTTP, error) {
	h := tasks.HTTP{URL: r.URL, Hosts: hosts, ContentType: r.ContentType, Headers: r.Headers}
	if r.Kind == KindJSON || r.Kind == KindWebhook {
		h.Secret = r.Secret
	}
	if r.Kind == KindDingTalk && r.Secret != "" {
		u, err := url.Parse(r.URL)
		if err != nil {
			return h, errors.New("url: not a URL") // the error would hold it
		}
		query := u.Query()
		at, sign := signDingTalk(r.Secret, now)
		query.Set("timestamp", at)
		query.Set("sign", sign)
		u.RawQuery = query.Encode()
		h.URL = u.String()
	}
	return h, nil
}

var publicURL = regexp.MustCompile(`^https?://[^\s/?#@"<>()\[\]]+(/[^\s?#"<>()\[\]]*)?$`)

// CheckPublicURL says what is wrong with the address of a dashboard.
func CheckPublicURL(text string) error {
	if len(text) > 1_000 || !publicURL.MatchString(text) {
		return errors.New("must be the address of the dashboard, such as https://reax.example.com")
	}
	return nil
}
