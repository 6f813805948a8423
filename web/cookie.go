package web

import (
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// The cookies of the dashboard. Cookies are shared by all ports of a host, hence the prefix.
const (
	langCookie  = "reax_lang"
	zoneCookie  = "reax_zone"
	themeCookie = "reax_theme"
	flashCookie = "reax_flash"

	densityCookie = "reax_density"
	rowsCookie    = "reax_rows"
)

const (
	settingsAge = 365 * 24 * time.Hour
	maxCookie   = 4000 // bytes; browsers refuse longer ones
)

func (s *Server) cookiePath() string { return s.base + "/" }

func cookieValue(c echo.Context, name string) string {
	cookie, err := c.Request().Cookie(name)
	if err != nil || len(cookie.Value) > maxCookie {
		return ""
	}
	return cookie.Value
}

// setCookie keeps a value for age; one of 0 or less removes it.
func setCookie(c echo.Context, path, name, value string, age time.Duration) {
	cookie := &http.Cookie{ //nolint:gosec // a cookie of a plain HTTP server cannot be Secure
		Name: name, Value: value, Path: path, MaxAge: int(age.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: requestIsTLS(c.Request()),
	}
	if age <= 0 {
		cookie.MaxAge = -1
	}
	c.SetCookie(cookie)
}

// zoneName keeps to how IANA spells its names, so that no other file of the machine is read as a zone.
var zoneName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9][A-Za-z0-9_+-]*){0,3}$`)

// zones keeps the zones that were asked for, by name: every page needs one, and reading one is slow.
var zones sync.Map

// zoneOf finds a zone of the IANA database.
func zoneOf(name string) (*time.Location, bool) {
	switch name {
	case "UTC", "Etc/UTC", "Etc/UCT", "Zulu", "UCT", "Universal":
		return time.UTC, true // one zone has one name
	}
	if len(name) > 64 || name == "Local" || !zoneName.MatchString(name) {
		return nil, false
	}
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), true
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, false
	}
	zones.Store(name, zone)
	return zone, true
}
