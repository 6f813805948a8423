package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/tasks"
	"reax/views"
)

// Who may see the status page.
const (
	StatusOff    = "off"    // nobody: there is none
	StatusPublic = "public" // whoever can reach the server
	StatusLink   = "link"   // whoever has the key, as ?key=, and those who are signed in
)

// Limits of the status page.
const (
	MaxStatusGroups = 50
	MaxStatusTypes  = 200 // patterns of one group
	MaxStatusOrigin = 50
	MinStatusKey    = 16 // bytes

	statusAge     = 30 * time.Second // how long an answer is given again
	statusMaxAge  = "30"             // the same for browsers, in seconds
	statusRetry   = 5 * time.Second  // the same when it could not be brought up to date
	statusKeep    = 5 * time.Minute  // how long the last word counts when no newer one can be found out
	statusLimit   = 5 * time.Second  // for reading all of it
	statusVariant = 512              // answers that are kept
)

// StatusConfig says what strangers may see, and who they are. The zero value is no status page.
type StatusConfig struct {
	Access string // StatusOff, StatusPublic or StatusLink; empty is StatusOff
	Key    string // of StatusLink
	Local  bool   // only this machine may ask, by no proxy
	Title  string // empty is one in the reader's language
	Groups []StatusGroup
	Embed  []string       // the origins whose pages may have it as a frame, such as https://intranet.example
	Zone   *time.Location // of its clocks and days; nil is UTC
}

// StatusGroup is some task types that strangers know under one name.
type StatusGroup struct {
	Name    string
	Types   []string      // names; one that ends with * is all that begin so
	Slow    time.Duration // it is slow while a task has waited for longer
	Failing float64       // it is failing while a smaller share of the runs succeeds, 0 to 1
	Window  time.Duration // in which runs are looked at
	Samples int64         // runs that there must be for a share to say anything
}

// What holds for a group of which nothing else is said; its Slow is actors.SlowDefault.
const (
	StatusFailingDefault = 0.9
	StatusWindowDefault  = 15 * time.Minute
	StatusSamplesDefault = 20
)

// Holds reports whether a type is in the group. Messages about alerts are so only by their name: a receiver that is away is
// no trouble of the tasks.
func (g *StatusGroup) Holds(typ string) bool {
	for _, pattern := range g.Types {
		if prefix, many := strings.CutSuffix(pattern, "*"); many && strings.HasPrefix(typ, prefix) && typ != tasks.NoticeType || pattern == typ {
			return true
		}
	}
	return false
}

// Days are how the runtime is to gather the days that the page shows; none when there is no page.
func (c StatusConfig) Days() actors.DayOptions {
	if c.Access != StatusPublic && c.Access != StatusLink {
		return actors.DayOptions{}
	}
	p := newStatusPage(c)
	return actors.DayOptions{Zone: p.cfg.Zone, Slow: func(typ string) time.Duration {
		for i := range p.cfg.Groups {
			if p.cfg.Groups[i].Holds(typ) {
				return p.cfg.Groups[i].Slow
			}
		}
		return actors.SlowDefault
	}}
}

// statusPage is the status page of a Server.
type statusPage struct {
	cfg     StatusConfig
	keyHash [sha256.Size]byte
	data    statusCache
}

func newStatusPage(cfg StatusConfig) *statusPage {
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	if len(cfg.Groups) == 0 {
		cfg.Groups = []StatusGroup{{Types: []string{"*"}}}
	}
	cfg.Groups = withStatusDefaults(cfg.Groups)
	return &statusPage{cfg: cfg, keyHash: sha256.Sum256([]byte(cfg.Key))}
}

// statusRoutes are those of strangers. They have no frame of asPage around them: nothing of them depends on who asks.
func (s *Server) statusRoutes(group *echo.Group) {
	for path, kind := range map[string]string{
		"/status": statusWhole, "/status/embed": statusEmbed, "/status/badge.svg": statusBadge, "/status.json": statusData,
	} {
		s.allow(anyone, http.MethodGet, path)
		group.GET(path, func(c echo.Context) error { return s.answerStatus(c, kind) })
	}
}

// isStatusPath reports whether a route is one of the status page, which strangers ask for again and again.
func isStatusPath(route string) bool {
	return strings.HasSuffix(route, "/status") || strings.HasSuffix(route, "/status.json") || strings.HasSuffix(route, "/status/embed") ||
		strings.HasSuffix(route, "/status/badge.svg")
}

// seesStatus reports whether who asks may see the status page.
func (s *Server) seesStatus(c echo.Context) bool {
	cfg, who := &s.status.cfg, callerOf(c.Request().Context())
	switch {
	case cfg.Access != StatusPublic && cfg.Access != StatusLink:
		return false
	case cfg.Local && who.by != bySocket && (who.relayed || !isThisMachine(who.address)):
		return false
	case cfg.Access == StatusPublic || who.role.May(viewer):
		return true
	}
	given := sha256.Sum256([]byte(c.QueryParam("key")))
	return cfg.Key != "" && subtle.ConstantTimeCompare(given[:], s.status.keyHash[:]) == 1
}

// answerStatus answers with one kind of the status page.
func (s *Server) answerStatus(c echo.Context, kind string) error {
	if !s.seesStatus(c) {
		return echo.ErrNotFound
	}
	v, ok := s.statusVariant(c, kind)
	if !ok {
		return echo.ErrNotFound
	}
	body, err := s.statusAnswer(c.Request().Context(), v)
	if err != nil {
		return err
	}
	s.statusHeaders(c, kind, body)
	h := c.Response().Header()
	if strings.Contains(c.Request().Header.Get("If-None-Match"), body.etag) {
		return c.NoContent(http.StatusNotModified)
	}
	if strings.Contains(c.Request().Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		return c.Blob(http.StatusOK, body.mediaType, body.zipped)
	}
	return c.Blob(http.StatusOK, body.mediaType, body.plain)
}

const (
	statusPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
	badgePolicy  = "default-src 'none'; frame-ancestors 'none'"
)

func (s *Server) statusHeaders(c echo.Context, kind string, body *statusBody) {
	h := c.Response().Header()
	switch kind {
	case statusEmbed:
		h.Set("Content-Security-Policy", statusPolicy+s.status.ancestors())
		h.Del("Cross-Origin-Opener-Policy") // a frame of another page has none of its own
	case statusWhole:
		h.Set("Content-Security-Policy", statusPolicy+"'none'")
	case statusBadge:
		h.Set("Content-Security-Policy", badgePolicy)
		h.Set("Cross-Origin-Resource-Policy", "cross-origin") // a picture is for the pages of others
	}
	scope := "public"
	if s.status.cfg.Access == StatusLink {
		scope = "private"
	}
	h.Set("Cache-Control", scope+", max-age="+statusMaxAge)
	h.Set("Vary", "Accept-Encoding, Accept-Language")
	h.Set("ETag", body.etag)
}

// ancestors are who may have the page as a frame.
func (p *statusPage) ancestors() string {
	if len(p.cfg.Embed) == 0 {
		return "'none'"
	}
	return strings.Join(p.cfg.Embed, " ")
}

// statusVariant reads how the page is wanted. It is not ok when a badge is asked for of a group that there is not.
func (s *Server) statusVariant(c echo.Context, kind string) (statusVariantKey, bool) {
	v := statusVariantKey{kind: kind, base: s.baseOf(c.Request()), group: -1, locale: views.LocaleOf(c.Request().Header.Get("Accept-Language"))}
	if l := views.Locale(c.QueryParam("lang")); l == views.English || l == views.Chinese {
		v.locale = l
	}
	if theme := c.QueryParam("theme"); theme == "light" || theme == "dark" {
		v.theme = theme
	}
	v.compact = kind == statusEmbed && c.QueryParam("compact") == "1"
	v.keyed = kind == statusWhole && s.status.cfg.Access == StatusLink && c.QueryParam("key") != ""
	switch kind {
	case statusBadge:
		v.theme, v.base = "", ""
		if name := c.QueryParam("group"); name != "" {
			for i := range s.status.cfg.Groups {
				if s.status.cfg.Groups[i].Name == name {
					v.group = i
				}
			}
			return v, v.group >= 0
		}
	case statusData:
		v.theme, v.base = "", ""
	}
	return v, true
}
