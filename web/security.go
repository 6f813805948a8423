package web

import (
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

const (
	apiPolicy  = "default-src 'none'; frame-ancestors 'none'"
	pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

// permissions switches off what no page of ours asks a browser for.
const permissions = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), serial=(), usb=()"

// keepsTLS reports whether browsers are told to use TLS alone for a host. This machine is not one: what else runs on its
// other ports would be locked out too, for the promise is that of all ports.
func keepsTLS(host string) bool {
	name := hostName(host)
	_, err := netip.ParseAddr(name)
	return err != nil && name != "localhost"
}

// identify gives each request an id, which the answer, the log and the audit record carry.
func (s *Server) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := c.Request().Header.Get(echo.HeaderXRequestID)
		if !isRequestID(id) {
			id = rand.Text()
		}
		if who, ok := c.Request().Context().Value(callerKey{}).(*caller); ok {
			who.requestID = id
		}
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		return next(c)
	}
}

// isRequestID reports whether a client's id is harmless in a log and a header.
func isRequestID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, r := range id {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return true
}

// logRequest writes one line a request. It names the route and not the address: queries and ids may be private.
func (s *Server) logRequest(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		if err := next(c); err != nil {
			c.Error(err)
		}
		level := slog.LevelInfo
		switch {
		case c.Response().Status >= http.StatusInternalServerError:
			level = slog.LevelWarn
		case strings.HasSuffix(c.Path(), "/healthz"), strings.HasSuffix(c.Path(), "/readyz"), strings.HasSuffix(c.Path(), "/metrics"), strings.HasSuffix(c.Path(), "/events"), isStatusPath(c.Path()):
			level = slog.LevelDebug
		}
		ctx := c.Request().Context()
		s.logger.LogAttrs(ctx, level, "request",
			slog.String("method", c.Request().Method),
			slog.String("route", c.Path()),
			slog.Int("status", c.Response().Status),
			slog.Float64("cost_ms", float64(time.Since(start).Microseconds())/1000),
			slog.String("request_id", callerOf(ctx).requestID))
		return nil
	}
}

// recoverPanic turns a panic of a handler into a 500 and a log line with the stack.
func (s *Server) recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			ctx := c.Request().Context()
			id := callerOf(ctx).requestID
			s.logger.LogAttrs(ctx, slog.LevelError, "panic in a request", slog.String("route", c.Path()),
				slog.String("request_id", id), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			if !c.Response().Committed {
				p := statusProblem(http.StatusInternalServerError)
				p.RequestID = id
				s.fail(c, p)
			}
		}()
		return next(c)
	}
}

// guard refuses what a foreign page makes a browser send, and sets the headers that keep an answer from being taken for
// something else.
func (s *Server) guard(next echo.HandlerFunc) echo.HandlerFunc {
	crossOrigin := http.NewCrossOriginProtection()
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", apiPolicy)
		h.Set("Cache-Control", "no-store")
		h.Set("Permissions-Policy", permissions)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		r := c.Request()
		if requestIsTLS(r) && keepsTLS(r.Host) {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		// A name that someone else's DNS points at this machine would make their page our own origin.
		if callerOf(r.Context()).by != bySocket && !s.answersFor(r) {
			s.fail(c, newProblem(http.StatusForbidden, "forbidden",
				"this server does not answer for the host %q; a name other than localhost must be configured", clip(r.Host)))
			return nil
		}
		if crossOrigin.Check(r) != nil {
			s.fail(c, newProblem(http.StatusForbidden, "forbidden", "changes from a page of another site are refused"))
			return nil
		}
		return next(c)
	}
}

func allowedHosts(names []string) map[string]bool {
	hosts := map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true}
	for _, name := range names {
		hosts[hostName(name)] = true
	}
	return hosts
}

// hostName is a Host header without its port, brackets and final dot, in lower case.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
