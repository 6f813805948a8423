package web

import (
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// A name in an address may have slashes, percent-encoded. Echo routes by the encoded path if there is one, and leaves
// the names in it encoded; so it gets a path in which nothing is encoded but what would change the routing.
var (
	encodeName = strings.NewReplacer("%", "%25", "/", "%2F")
	decodeName = strings.NewReplacer("%25", "%", "%2F", "/")
)

// routingPath is the encoded path for Echo; empty when the decoded one will do.
func routingPath(u *url.URL) string {
	if !strings.Contains(u.RawPath, "%2") {
		return ""
	}
	parts := strings.Split(u.RawPath, "/")
	for i, part := range parts {
		// Its encoding is right, or there would be no RawPath.
		name, err := url.PathUnescape(part)
		if err != nil {
			return ""
		}
		parts[i] = encodeName.Replace(name)
	}
	return strings.Join(parts, "/")
}

// decodeNames undoes what routingPath did to the names in the path.
func decodeNames(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().URL.RawPath == "" {
			return next(c)
		}
		values := slices.Clone(c.ParamValues())
		for i := range values {
			values[i] = decodeName.Replace(values[i])
		}
		c.SetParamValues(values...)
		return next(c)
	}
}
