package cli

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"reax/tasks"
	"reax/web"
)

const (
	maxStatusSlow   = 7 * day
	maxStatusWindow = day
	maxStatusText   = 100 // runes of a title or a name
)

// statusConfig is what strangers may see.
type statusConfig struct {
	Access string // off, public or link; empty is public for this machine alone, and off for any other
	Key    secretText
	Title  string
	Groups []statusGroupConfig
	Embed  []string
	Zone   *time.Location
}

// statusGroupConfig is some task types under one name.
type statusGroupConfig struct {
	web.StatusGroup
	at value
}

// fields are the keys below status.
func (c *statusConfig) read(dir string, v value) {
	keyed := 0
	v.mapping(map[string]func(value){
		"access":   func(v value) { c.Access = v.oneOf(web.StatusOff, web.StatusPublic, web.StatusLink) },
		"key_env":  func(v value) { keyed++; c.Key.env, c.Key.at = v.text(), v },
		"key_file": func(v value) { keyed++; c.Key.file, c.Key.at = inDir(dir, v.text()), v },
		"title":    func(v value) { c.Title = v.shortText() },
		"zone":     func(v value) { c.Zone = v.zone() },
		"embed":    func(v value) { c.Embed = v.origins() },
		"groups": func(v value) {
			names := map[string]bool{}
			for _, item := range v.list() {
				g := item.statusGroup()
				if g.Name != "" && names[g.Name] {
					item.fail("there are two groups of the name %q", g.Name)
				}
				names[g.Name] = true
				c.Groups = append(c.Groups, g)
			}
			if len(c.Groups) > web.MaxStatusGroups {
				v.fail("has more than %d entries", web.MaxStatusGroups)
			}
		},
	})
	switch {
	case keyed > 1:
		v.fail("takes only one of key_env and key_file")
	case c.Access == web.StatusLink && keyed == 0:
		v.fail("access: link needs key_env or key_file, which says where the key of the link is")
	case c.Access != web.StatusLink && keyed > 0:
		v.fail("a key is for access: link alone")
	}
}

// statusGroup reads one group.
func (v value) statusGroup() statusGroupConfig {
	g := statusGroupConfig{at: v}
	v.mapping(map[string]func(value){
		"name": func(v value) { g.Name = v.shortText() },
		"types": func(v value) {
			for _, item := range v.list() {
				text := item.text()
				if prefix, many := strings.CutSuffix(text, "*"); (!many || prefix != "") && tasks.CheckName(strings.TrimSuffix(prefix, ".")) != nil {
					item.fail("is not the name of a task type, nor the beginning of some with a * after it")
				}
				g.Types = append(g.Types, text)
			}
			if len(g.Types) > web.MaxStatusTypes {
				v.fail("has more than %d entries", web.MaxStatusTypes)
			}
		},
		"slow":    func(v value) { g.Slow = v.duration(false, maxStatusSlow) },
		"window":  func(v value) { g.Window = v.duration(false, maxStatusWindow) },
		"failing": func(v value) { g.Failing = v.percent() },
		"samples": func(v value) { g.Samples = int64(v.whole(1, 1_000_000)) },
	})
	switch {
	case g.Name == "":
		v.fail("needs a name")
	case len(g.Types) == 0:
		v.fail("needs types, such as [report.generate, mail.*]")
	}
	return g
}

// shortText reads a title or a name for people.
func (v value) shortText() string {
	text := v.text()
	switch {
	case utf8.RuneCountInString(text) > maxStatusText:
		v.fail("has more than %d characters", maxStatusText)
	case strings.TrimSpace(text) == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		v.fail("must be one line of text")
	}
	return text
}

// percent reads a share such as 90%.
func (v value) percent() float64 {
	var n float64
	text, ok := strings.CutSuffix(v.text(), "%")
	if _, err := fmt.Sscanf(strings.TrimSpace(text)+"\n", "%f\n", &n); !ok || err != nil || n <= 0 || n > 100 {
		v.fail("must be a share of more than 0%% and at most 100%%, such as 90%%, not %s", v.describe())
		return 0
	}
	return n / 100
}

// zone reads a time zone of the IANA database.
func (v value) zone() *time.Location {
	name := v.text()
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		v.fail("must be a time zone such as Asia/Shanghai, Europe/Berlin or UTC, not %s", v.describe())
		return time.UTC
	}
	return zone
}

// origins reads a list of web origins. They come into a header of their own, so nothing else may stand in them.
func (v value) origins() []string {
	var all []string
	for _, item := range v.list() {
		text := strings.TrimSuffix(item.text(), "/")
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || text != u.Scheme+"://"+u.Host || strings.ContainsAny(text, " ;,'\"*") {
			item.fail("must be an origin such as https://intranet.example, not %s", item.describe())
			continue
		}
		all = append(all, text)
	}
	if len(all) > web.MaxStatusOrigin {
		v.fail("has more than %d entries", web.MaxStatusOrigin)
	}
	return all
}

// check names what is wrong with the groups now that the task types are known.
func (c *statusConfig) check(file string, registry *tasks.Registry) (found problems) {
	var names []string
	for _, d := range registry.All() {
		names = append(names, d.Name)
	}
	for i := range c.Groups {
		for _, typ := range c.Groups[i].Types {
			if _, ok := registry.Lookup(typ); !ok && !strings.HasSuffix(typ, "*") {
				at := c.Groups[i].at.at("/types")
				found = append(found, problem{File: file, Line: at.line, Path: at.path, Text: fmt.Sprintf("there is no task type %q %s", typ, meant(typ, names))})
			}
		}
	}
	return found
}

// page is the configuration of the status page of a server.
func (c *statusConfig) page(loopback bool, env func(string) string) (web.StatusConfig, error) {
	page := web.StatusConfig{Access: c.Access, Title: c.Title, Embed: c.Embed, Zone: c.Zone}
	if c.Access == "" && loopback {
		page.Access, page.Local = web.StatusPublic, true
	}
	for i := range c.Groups {
		page.Groups = append(page.Groups, c.Groups[i].StatusGroup)
	}
	if c.Access != web.StatusLink {
		return page, nil
	}
	key, err := c.Key.resolve("status", env)
	if err != nil {
		return page, err
	}
	if len(key) < web.MinStatusKey {
		return page, fmt.Errorf("status: the key of the link is shorter than %d bytes; openssl rand -hex 16 makes one", web.MinStatusKey)
	}
	page.Key = key
	return page, nil
}
