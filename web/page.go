package web

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reax/models"
	"reax/views"
)

// byDashboard is who asked, when it was a page.
const byDashboard = "dashboard"

// fragmentsHeader names the live regions of a page that are wanted, with commas between.
const fragmentsHeader = "X-Reax-Fragments"

const maxFragments = 20

// asPage is the frame around every handler that answers with a page: its headers, its viewer and its time limit.
func (s *Server) asPage(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", pagePolicy)
		// Without a referrer a form of ours would be sent with the origin "null", and be refused as foreign.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Vary", "Accept-Language, Cookie, "+fragmentsHeader)
		ctx, cancel := context.WithTimeout(c.Request().Context(), writeTimeout)
		defer cancel()
		if who, ok := ctx.Value(callerKey{}).(*caller); ok && who.by == byAPI {
			who.by = byDashboard
		}
		viewer := s.viewer(c)
		if c.Request().Method == http.MethodGet && viewer.Role != "" {
			viewer.Counts = s.stateCounts(ctx)
			viewer.NewDead = s.newDead(ctx, c, viewer.Counts)
			if c.Request().Header.Get(fragmentsHeader) == "" {
				viewer.Flash = takeFlash(c, viewer.Locale, s.cookiePath())
			}
		}
		c.SetRequest(c.Request().WithContext(views.WithViewer(ctx, viewer)))
		return next(c)
	}
}

// viewer reads how the page is wanted.
func (s *Server) viewer(c echo.Context) *views.Viewer {
	r := c.Request()
	v := &views.Viewer{
		Locale: views.LocaleOf(r.Header.Get("Accept-Language")), Zone: serverZone(), Base: s.baseOf(r), Version: s.version,
		RequestID: callerOf(r.Context()).requestID, Now: time.Now(), Here: s.baseOf(r) + "/",
	}
	if r.Method == http.MethodGet {
		v.Here = callerOf(r.Context()).prefix + r.URL.RequestURI()
	}
	if l := views.Locale(cookieValue(c, langCookie)); l == views.English || l == views.Chinese {
		v.Locale = l
	}
	if zone, ok := zoneOf(cookieValue(c, zoneCookie)); ok {
		v.Zone = zone
	}
	if theme := cookieValue(c, themeCookie); theme == "light" || theme == "dark" {
		v.Theme = theme
	}
	if cookieValue(c, densityCookie) == compact {
		v.Density = compact
	}
	v.Rows = rowsOf(cookieValue(c, rowsCookie))
	viewedBy(v, callerOf(r.Context()))
	return v
}

// stateCounts are all tasks by state; nil when the database does not answer, which no page fails for.
func (s *Server) stateCounts(ctx context.Context) map[models.State]int64 {
	counts, err := s.ledger.Counts(ctx)
	if err != nil {
		return nil
	}
	total := map[models.State]int64{}
	for _, row := range counts {
		total[row.State] += row.N
	}
	return total
}

// wanted are the live regions that the script asks for; none when it is a whole page.
func wanted(c echo.Context) []string {
	names := list([]string{c.Request().Header.Get(fragmentsHeader)})
	return names[:min(len(names), maxFragments)]
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// render answers with a page, or with those of its live regions that were asked for. The page is rendered whole before
// its first byte is sent, so that an error can still be an error.
func (s *Server) render(c echo.Context, status int, page templ.Component) error {
	html := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(html)
	html.Reset()
	ctx := c.Request().Context()
	var err error
	if names := wanted(c); len(names) > 0 {
		ids := make([]any, len(names))
		for i, name := range names {
			ids[i] = name
		}
		err = templ.RenderFragments(ctx, html, page, ids...)
	} else {
		err = page.Render(ctx, html)
	}
	if err != nil {
		return err
	}
	return c.HTMLBlob(status, views.Tame(html.Bytes()))
}

// seeOther answers a form: the browser goes on to an address, as views.URL or backTo gives it.
func seeOther(c echo.Context, address string) error {
	if prefix := callerOf(c.Request().Context()).prefix; prefix != "" && !strings.HasPrefix(address, prefix+"/") {
		address = prefix + address // which a proxy takes off again
	}
	return c.Redirect(http.StatusSeeOther, address)
}

// wantsPage reports whether an error is to be a page: a browser asks, and for no part of the API.
func (s *Server) wantsPage(c echo.Context) bool {
	r := c.Request()
	return strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.HasPrefix(r.URL.Path, s.base+"/api/")
}
