package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"reax/views"
)

// maxKept is the longest form, in bytes, that is kept while somebody signs in again.
const maxKept = 64 << 10

// keepForm keeps a form whose session has ended, so that it can be sent again after the sign-in, and gives the page that
// it came from. It travels in the sign-in page, since nothing here is known of who sent it; no password and no secret
// parameter goes with it.
func (s *Server) keepForm(c echo.Context) (kept views.KeptForm, back string) {
	r := c.Request()
	back = s.base + "/"
	if from, err := url.Parse(r.Referer()); err == nil && from.Host == r.Host {
		back = s.nextOf(from.RequestURI())
	}
	path := strings.TrimPrefix(r.URL.Path, s.base)
	for _, own := range []string{"/login", "/logout", "/account", "/admin"} {
		if path == own || strings.HasPrefix(path, own+"/") {
			return views.KeptForm{}, back
		}
	}
	if r.ContentLength > maxKept {
		return views.KeptForm{}, back
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxKept)
	form, err := readForm(c)
	if err != nil {
		return views.KeptForm{}, back
	}
	s.dropSecrets(c, form)
	values := form.Encode()
	if len(values) > maxKept {
		return views.KeptForm{}, back
	}
	return views.KeptForm{Path: r.URL.RequestURI(), Values: values}, back
}

// dropSecrets takes the secret parameters of a task out of a form.
func (s *Server) dropSecrets(c echo.Context, form url.Values) {
	typ := c.Param("type")
	if typ == "" {
		typ = form.Get("task")
	}
	schema := s.schemaOf(typ)
	if schema == nil || !schema.Masks() {
		return
	}
	for _, f := range formOf(schema).fields {
		if f.hidden {
			form.Del(paramPrefix + f.name)
		}
	}
	for name, values := range form {
		for i, text := range values {
			if strings.HasPrefix(strings.TrimSpace(text), "{") {
				form[name][i] = schema.Mask(text)
			}
		}
	}
}
