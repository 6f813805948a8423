package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a-h/templ"

	"reax/models"
	"reax/views"
)

// The kinds of the status page.
const (
	statusWhole = "page"
	statusEmbed = "embed"
	statusBadge = "badge"
	statusData  = "json"
)

// statusVariantKey is all that two answers of one moment can differ by.
type statusVariantKey struct {
	kind    string
	locale  views.Locale
	theme   string
	compact bool
	keyed   bool // its links have the key
	group   int  // of a badge; -1 is everything
	base    string
}

// statusBody is an answer as it is sent.
type statusBody struct {
	plain, zipped   []byte
	mediaType, etag string
}

// statusFacts are what is known at a moment, with the answers that were made of it.
type statusFacts struct {
	views.Status      // without what a variant is about
	fresh        bool // it could be read
	until        time.Time

	mu     sync.Mutex
	bodies map[statusVariantKey]*statusBody
}

// statusCache holds the latest facts. However many ask, the ledger is read once in statusAge, and an answer is rendered
// once; while one request reads, the others get what was there before.
type statusCache struct {
	changed atomic.Bool // something was written since the latest was begun
	reading sync.Mutex
	latest  atomic.Pointer[statusFacts]
}

// statusNow gives facts that are at most statusAge old, or the last that could be read with how old they are.
func (s *Server) statusNow(ctx context.Context) *statusFacts {
	cache := &s.status.data
	old := cache.latest.Load()
	if old != nil && time.Now().Before(old.until) && !cache.changed.Load() {
		return old
	}
	if old == nil {
		cache.reading.Lock()
	} else if !cache.reading.TryLock() {
		return old
	}
	defer cache.reading.Unlock()
	if again := cache.latest.Load(); again != old {
		return again
	}
	// The one who asks reads for all the others, and must not take it from them by going away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statusLimit)
	defer cancel()
	cache.changed.Store(false)
	now, age := time.Now(), statusAge
	made := &statusFacts{Status: views.Status{UpdatedAt: models.At(now)}, fresh: true}
	if err := s.readStatus(ctx, &made.Status, now); err != nil {
		s.logger.Warn("the status page cannot be brought up to date", slog.Any("error", err))
		made, age = s.lastStatus(old, now), statusRetry
	}
	made.until, made.bodies = time.Now().Add(age), map[statusVariantKey]*statusBody{}
	cache.latest.Store(made)
	return made
}

// lastStatus is what was known before, as what it is.
func (s *Server) lastStatus(old *statusFacts, now time.Time) *statusFacts {
	made := &statusFacts{}
	if old == nil || !old.fresh && len(old.Groups) == 0 {
		made.Word, made.UpdatedAt = views.StatusUnknown, models.At(now)
		return made
	}
	made.Status = old.Status
	made.Age = max(models.At(now).Sub(old.UpdatedAt), time.Second)
	if made.Age > statusKeep {
		made.Word = views.StatusUnknown
	}
	return made
}

// statusAnswer gives a variant of the page.
func (s *Server) statusAnswer(ctx context.Context, key statusVariantKey) (*statusBody, error) {
	facts := s.statusNow(ctx)
	facts.mu.Lock()
	defer facts.mu.Unlock()
	if body := facts.bodies[key]; body != nil {
		return body, nil
	}
	body, err := s.renderStatus(&facts.Status, key)
	if err != nil {
		return nil, err
	}
	if len(facts.bodies) >= statusVariant {
		clear(facts.bodies)
	}
	facts.bodies[key] = body
	return body, nil
}

// renderStatus makes the answer of a variant.
func (s *Server) renderStatus(facts *views.Status, key statusVariantKey) (*statusBody, error) {
	body := &statusBody{mediaType: "text/html; charset=utf-8"}
	var text bytes.Buffer
	switch key.kind {
	case statusData:
		body.mediaType = "application/json"
		if err := json.NewEncoder(&text).Encode(s.statusJSON(facts, key.locale)); err != nil {
			return nil, fmt.Errorf("writing the status: %w", err)
		}
	case statusBadge:
		body.mediaType = "image/svg+xml"
		if err := render(&text, views.StatusBadge(s.badge(facts, key)), s.statusViewer(facts, key)); err != nil {
			return nil, err
		}
	default:
		page := *facts
		page.Title, page.Compact, page.Embedded = s.status.cfg.Title, key.compact, key.kind == statusEmbed
		if !page.Embedded {
			for _, l := range views.Locales {
				page.Languages = append(page.Languages, views.StatusLanguage{Locale: l, URL: s.statusURL(key, l)})
			}
		}
		if err := render(&text, views.StatusPage(page), s.statusViewer(facts, key)); err != nil {
			return nil, err
		}
	}
	body.plain = text.Bytes()
	sum := sha256.Sum256(body.plain)
	body.etag = `W/"` + hex.EncodeToString(sum[:8]) + `"`
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(body.plain); err != nil {
		return nil, fmt.Errorf("compressing the status: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing the status: %w", err)
	}
	body.zipped = zipped.Bytes()
	return body, nil
}

// statusViewer is a reader of whom nothing is known but the language.
func (s *Server) statusViewer(facts *views.Status, key statusVariantKey) *views.Viewer {
	return &views.Viewer{Locale: key.locale, Zone: s.status.cfg.Zone, Base: key.base, Theme: key.theme,
		Now: facts.UpdatedAt.Add(facts.Age).Time()}
}

// statusURL is the page in another language.
func (s *Server) statusURL(key statusVariantKey, l views.Locale) templ.SafeURL {
	secret := ""
	if key.keyed {
		secret = s.status.cfg.Key
	}
	return views.URL(views.WithViewer(context.Background(), &views.Viewer{Base: key.base}), "/status", "lang", string(l), "theme", key.theme, "key", secret)
}

// badge is the picture of one group, or of everything.
func (s *Server) badge(facts *views.Status, key statusVariantKey) views.Badge {
	b := views.Badge{Label: views.StatusTitle(key.locale, s.status.cfg.Title), Word: facts.Word}
	if key.group >= 0 {
		b.Label, b.Word = s.status.cfg.Groups[key.group].Name, views.StatusUnknown
		if key.group < len(facts.Groups) && facts.Age <= statusKeep {
			b.Word = facts.Groups[key.group].Word
		}
	}
	b.Text = b.Word.Text(key.locale)
	return b
}

func render(to *bytes.Buffer, c templ.Component, v *views.Viewer) error {
	var html bytes.Buffer
	if err := c.Render(views.WithViewer(context.Background(), v), &html); err != nil {
		return fmt.Errorf("rendering the status: %w", err)
	}
	to.Write(views.Tame(html.Bytes()))
	return nil
}
