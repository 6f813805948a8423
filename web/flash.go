package web

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/labstack/echo/v4"

	"reax/views"
)

// The tones of a flash.
const (
	flashOK   = "ok"
	flashWarn = "warn" // done in part
	flashBad  = "bad"  // not done
)

const (
	flashAge      = time.Minute
	maxFlashValue = 300 // bytes of one value
)

// message is what an action did, on its way through a cookie to the page that follows. It is a key of the catalogue and
// not a text, so that a cookie from elsewhere can make the page say nothing that we do not say.
type message struct {
	Tone string `json:"tone"`
	Key  string `json:"key"`
	Args []any  `json:"args,omitempty"` // names and values, as Locale.Text takes them
	URL  string `json:"url,omitempty"`  // a page about it, below the base path
}

// say shows m on the next page.
func (s *Server) say(c echo.Context, m message) {
	for i, arg := range m.Args {
		if text, ok := arg.(string); ok && len(text) > maxFlashValue {
			m.Args[i] = clip(text)
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return
	}
	if value := base64.RawURLEncoding.EncodeToString(text); len(value) <= maxCookie {
		setCookie(c, s.cookiePath(), flashCookie, value, flashAge)
	}
}

// takeFlash reads the message and removes it.
func takeFlash(c echo.Context, l views.Locale, path string) *views.Flash {
	value := cookieValue(c, flashCookie)
	if value == "" {
		return nil
	}
	setCookie(c, path, flashCookie, "", 0)
	var m message
	raw, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	text, ok := l.Lookup(m.Key, m.Args...)
	if !ok || m.Tone != flashOK && m.Tone != flashWarn && m.Tone != flashBad {
		return nil
	}
	if !isLocal(m.URL) {
		m.URL = ""
	}
	return &views.Flash{Tone: m.Tone, Text: text, URL: m.URL}
}
