package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reax/views"
)

const maxPathBytes = 2000

// compact is the density of pages with low rows.
const compact = "compact"

// rowsOf is how many rows a page of a list is to have, by a setting; 0 for what is no choice of ours.
func rowsOf(setting string) int {
	if n, err := strconv.Atoi(setting); err == nil && slices.Contains(views.PageSizes, n) {
		return n
	}
	return 0
}

// pageRows is how many rows of a list the viewer wants.
func pageRows(ctx context.Context) int {
	return cmp.Or(views.ViewerOf(ctx).Rows, views.DefaultPageSize)
}

// saveSettings keeps how somebody wants to see the pages, in their browser, and goes back to where they were.
func (s *Server) saveSettings(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	path := s.cookiePath()
	switch theme := form.Get("theme"); theme {
	case "light", "dark":
		setCookie(c, path, themeCookie, theme, settingsAge)
	case "system":
		setCookie(c, path, themeCookie, "", 0)
	}
	if l := views.Locale(form.Get("lang")); l == views.English || l == views.Chinese {
		setCookie(c, path, langCookie, string(l), settingsAge)
	}
	switch density := form.Get("density"); density {
	case compact:
		setCookie(c, path, densityCookie, density, settingsAge)
	case "comfortable":
		setCookie(c, path, densityCookie, "", 0)
	}
	if rows := rowsOf(form.Get("rows")); rows != 0 {
		setCookie(c, path, rowsCookie, strconv.Itoa(rows), settingsAge)
	}
	if form.Has("save") {
		name := strings.TrimSpace(form.Get("zone"))
		if _, ok := zoneOf(name); ok {
			setCookie(c, path, zoneCookie, name, settingsAge)
		} else {
			s.say(c, message{Tone: flashBad, Key: "settings.bad_zone", Args: []any{"zone", name}})
		}
	}
	return seeOther(c, s.backTo(form.Get("back")))
}

// backTo is where a form came from, if that is a page of ours, else the first page. It begins with the base path.
func (s *Server) backTo(back string) string {
	if !isLocal(back) || s.base != "" && !strings.HasPrefix(back, s.base+"/") {
		return s.base + "/"
	}
	return back
}

// isLocal reports whether a browser takes path for an address of this server.
func isLocal(path string) bool {
	if len(path) > maxPathBytes || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t\x00") {
		return false
	}
	u, err := url.Parse(path)
	return err == nil && u.Host == "" && u.Scheme == ""
}

// readForm reads the fields of a form. A body that is too large or that is no form is a problem.
func readForm(c echo.Context) (url.Values, error) {
	r := c.Request()
	if !strings.HasPrefix(r.Header.Get("Content-Type"), echo.MIMEApplicationForm) {
		return nil, newProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "this address takes the fields of a form")
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxBodyBytes)
	if err := r.ParseForm(); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return nil, tooLarge()
		}
		return nil, newProblem(http.StatusBadRequest, "invalid", "the form cannot be read")
	}
	return r.PostForm, nil
}
