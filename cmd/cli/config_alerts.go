package cli

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/tasks/notify"
)

const (
	maxAlertSpan   = 30 * day
	maxCertificate = 1 << 20 // bytes
)

// alertsConfig is who is told of what.
type alertsConfig struct {
	Language  string
	Rules     []ruleConfig
	Receivers []receiverConfig
}

// ruleConfig is one alert rule as the configuration file describes it.
type ruleConfig struct {
	actors.AlertRule
	Bad bool // a problem was found in it already

	place  value
	places map[string]value // by field of the rule, where that is not what the key is called
}

// receiverConfig is one receiver as the configuration file describes it. Secrets are not looked up yet.
type receiverConfig struct {
	notify.Receiver
	Bad bool

	place                           value
	url, secret, template, password secretText
	headers                         map[string]secretText
	ca                              string
}

// parseAlerts reads the section alerts.
func parseAlerts(dir string, v value) alertsConfig {
	var c alertsConfig
	v.mapping(map[string]func(value){
		"language": func(v value) { c.Language = v.oneOf(notify.English, notify.Chinese) },
		"rules": func(v value) {
			v.entries(func(name string, item value) { c.Rules = append(c.Rules, parseRule(name, item)) })
			if len(c.Rules) > models.MaxAlertRules {
				v.fail("there are more than %d rules", models.MaxAlertRules)
			}
		},
		"receivers": func(v value) {
			v.entries(func(name string, item value) { c.Receivers = append(c.Receivers, parseReceiver(name, dir, item)) })
		},
	})
	receivers := c.options().Receivers
	for i := range c.Rules {
		c.Rules[i].check(receivers)
	}
	return c
}

func parseRule(name string, v value) ruleConfig {
	before := v.doc.faults
	c := ruleConfig{AlertRule: actors.AlertRule{Name: name, File: true}, place: v, places: map[string]value{}}
	limits := map[string]value{}
	limit := func(key string) func(value) { return func(v value) { limits[key] = v } }
	v.mapping(map[string]func(value){
		"when":        func(v value) { c.Kind, c.places["kind"] = v.oneOf(models.AlertKinds...), v },
		"types":       func(v value) { c.Types = v.texts() },
		"over":        limit("over"),
		"below":       limit("below"),
		"clear":       limit("clear"),
		"samples":     func(v value) { c.Samples = int64(v.whole(1, 1_000_000)) },
		"within":      func(v value) { c.Window, c.places["window"] = v.duration(false, day), v },
		"for":         func(v value) { c.For = v.duration(true, maxAlertSpan) },
		"clear_after": func(v value) { c.ClearAfter = v.duration(false, maxAlertSpan) },
		"repeat":      func(v value) { c.Repeat = v.duration(false, maxAlertSpan) },
		"receivers":   func(v value) { c.Receivers = v.texts() },
	})
	if c.Kind == "" && v.doc.faults == before {
		v.fail("says not what it looks at: when is needed, one of %s", orList(models.AlertKinds))
	}
	if v.doc.faults == before {
		c.limits(limits)
	}
	c.Bad = v.doc.faults > before
	c.AlertRule = c.WithDefaults()
	return c
}

// limits reads the keys that have the unit of the kind.
func (c *ruleConfig) limits(written map[string]value) {
	has, below, samples, window := actors.AlertLimit(c.Kind)
	mine := "over"
	if below {
		mine = "below"
	}
	for key, v := range written {
		if !has || key != mine && key != "clear" {
			v.fail("is not for %s", c.Kind)
			continue
		}
		n, err := actors.ParseAlertLimit(c.Kind, v.text())
		if err != nil {
			v.fail("%v", err)
		}
		if key == "clear" {
			c.Clear = n
		} else {
			c.Limit, c.places["limit"] = n, v
			if n == 0 && err == nil {
				v.fail("must be more than 0")
			}
		}
	}
	if !samples && c.Samples > 0 {
		c.place.at("/samples").fail("is not for %s", c.Kind)
	}
	if !window && c.Window > 0 {
		c.place.at("/within").fail("is not for %s", c.Kind)
	}
}

// check names what makes no sense, now that all receivers are known.
func (c *ruleConfig) check(receivers []actors.AlertReceiver) {
	if c.Bad {
		return
	}
	for _, f := range actors.CheckAlertRule(c.AlertRule, receivers) {
		field, _, _ := strings.Cut(strings.TrimPrefix(f.Location, "/"), "/")
		place, ok := c.places[field]
		switch {
		case ok:
		case field == "name":
			place = c.place
		default:
			place = c.place.at(f.Location)
		}
		place.fail("%s", f.Message)
		c.Bad = true
	}
}

func parseReceiver(name, dir string, v value) receiverConfig {
	before := v.doc.faults
	c := receiverConfig{Receiver: notify.Receiver{Name: name}, place: v}
	m := &c.Mail
	mailOnly, otherOnly := map[string]value{}, map[string]value{}
	only := func(which map[string]value, key string, read func(value)) func(value) {
		return func(v value) { which[key] = v; read(v) }
	}
	v.mapping(map[string]func(value){
		"kind":         func(v value) { c.Kind = v.oneOf(notify.Kinds...) },
		"url":          only(otherOnly, "url", func(v value) { c.url = v.secretText(dir) }),
		"secret":       only(otherOnly, "secret", func(v value) { c.secret = v.secretText(dir) }),
		"headers":      only(otherOnly, "headers", func(v value) { c.headers = v.secretTexts(dir) }),
		"template":     only(otherOnly, "template", func(v value) { c.template = v.secretText(dir) }),
		"content_type": only(otherOnly, "content_type", func(v value) { c.ContentType = v.text() }),
		"server":       only(mailOnly, "server", func(v value) { m.Server = v.text() }),
		"tls":          only(mailOnly, "tls", func(v value) { m.TLS = v.oneOf(notify.TLSStart, notify.TLSImplicit, notify.TLSNone) }),
		"ca":           only(mailOnly, "ca", func(v value) { c.ca = inDir(dir, v.text()) }),
		"user":         only(mailOnly, "user", func(v value) { m.User = v.text() }),
		"password":     only(mailOnly, "password", func(v value) { c.password = v.secretText(dir) }),
		"from":         only(mailOnly, "from", func(v value) { m.From = v.text() }),
		"to":           only(mailOnly, "to", func(v value) { m.To = v.texts() }),
	})
	switch {
	case v.doc.faults > before:
	case c.Kind == "":
		v.fail("has no kind: one of %s", orList(notify.Kinds))
	case c.Kind == notify.KindMail:
		for _, item := range otherOnly {
			item.fail("is not for mail")
		}
	default:
		for _, item := range mailOnly {
			item.fail("is only for mail")
		}
		if !c.url.isSet() {
			v.fail("needs a url")
		}
	}
	c.Bad = v.doc.faults > before
	return c
}

// resolve looks up the secrets. The error names what is wrong; the caller knows where.
func (c *receiverConfig) resolve(env func(string) string) (r notify.Receiver, err error) {
	r = c.Receiver
	texts := []struct {
		name string
		from secretText
		to   *string
	}{{"url", c.url, &r.URL}, {"secret", c.secret, &r.Secret}, {"template", c.template, &r.Template}, {"password", c.password, &r.Mail.Password}}
	for _, t := range texts {
		if *t.to, err = t.from.resolve(t.name, env); err != nil {
			return r, err
		}
	}
	if r.Headers, err = resolveTexts("headers", c.headers, env); err != nil {
		return r, err
	}
	if c.ca != "" {
		pem, err := readLimited(c.ca, maxCertificate)
		if err != nil {
			return r, fmt.Errorf("ca: %w", err)
		}
		r.Mail.Roots = x509.NewCertPool()
		if !r.Mail.Roots.AppendCertsFromPEM(pem) {
			return r, errors.New("ca: the file holds no certificate in PEM")
		}
	}
	return r, nil
}

// addAlerts registers the task type that sends to the receivers, if there are any, and names what is wrong with them.
func (cfg *Config) addAlerts(registry *tasks.Registry, env func(string) string) (found problems) {
	c := notify.Config{Language: cfg.Alerts.Language, PublicURL: cfg.PublicURL, Zone: time.Local, Hosts: []tasks.HostRules{cfg.Access.Outbound}}
	for i := range cfg.Alerts.Receivers {
		from := &cfg.Alerts.Receivers[i]
		if from.Bad {
			continue
		}
		r, err := from.resolve(env)
		if err == nil {
			err = r.Validate(c.Hosts)
		}
		if err != nil {
			found = append(found, problem{File: cfg.File, Line: from.place.line, Path: from.place.path, Text: err.Error()})
			continue
		}
		c.Receivers = append(c.Receivers, r)
	}
	if len(found) > 0 {
		return found
	}
	if err := notify.Register(registry, c); err != nil {
		found = append(found, problem{File: cfg.File, Path: "alerts.receivers", Text: err.Error()})
	}
	return found
}

// options are what the runtime needs to know.
func (c *alertsConfig) options() actors.AlertOptions {
	var o actors.AlertOptions
	for i := range c.Rules {
		o.Rules = append(o.Rules, c.Rules[i].AlertRule)
	}
	slices.SortFunc(o.Rules, func(a, b actors.AlertRule) int { return strings.Compare(a.Name, b.Name) })
	for i := range c.Receivers {
		o.Receivers = append(o.Receivers, actors.AlertReceiver{Name: c.Receivers[i].Name, Kind: c.Receivers[i].Kind})
	}
	return o
}

// publicURL reads the address of the dashboard, as people reach it.
func (v value) publicURL() string {
	text := v.text()
	if text != "" {
		if err := notify.CheckPublicURL(text); err != nil {
			v.fail("%v", err)
		}
	}
	return text
}
