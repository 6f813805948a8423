package web

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/views"
)

// sessionCookie is the name of the cookie with the secret of a session. All ports of a host share their cookies, so that
// two servers on one machine need two names.
func sessionCookie(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil && port != "" {
		return "reax_session_" + port
	}
	return "reax_session"
}

// askToSignIn answers who is nobody. A page is shown after the sign-in, and a form is kept until then; what a page asks
// for by itself, and a program, are told in a problem.
func (s *Server) askToSignIn(c echo.Context, p *problemJSON) error {
	c.Response().Header().Set("WWW-Authenticate", "Bearer")
	r := c.Request()
	if !s.wantsPage(c) || isByItself(r) || s.auth != nil {
		s.fail(c, p)
		return nil
	}
	if !changes(r.Method) {
		next := r.URL.RequestURI()
		if next == s.base+"/" {
			next = ""
		}
		return seeOther(c, string(views.URL(views.WithViewer(r.Context(), s.viewer(c)), "/login", "next", next)))
	}
	kept, back := s.keepForm(c)
	return s.asPage(func(c echo.Context) error {
		page := views.Login{Next: back, Kept: kept, Ended: true}
		return s.render(c, http.StatusUnauthorized, views.LoginPage(page))
	})(c)
}

// loginPage asks for a name and a password.
func (s *Server) loginPage(c echo.Context) error {
	who := callerOf(c.Request().Context())
	next := s.nextOf(c.QueryParam("next"))
	if who.role != "" && (who.user != nil || who.open) {
		if c.Request().Header.Get(fragmentsHeader) != "" {
			// A page that came of signing in, with a form to be sent again, asks for what is new. To be sent elsewhere it would
			// load itself again, under the hand of who is about to press its button.
			return c.NoContent(http.StatusNoContent)
		}
		return seeOther(c, next)
	}
	return s.render(c, http.StatusOK, views.LoginPage(views.Login{Next: next}))
}

// nextOf is where to go after the sign-in: a page of ours that is not about signing in.
func (s *Server) nextOf(path string) string {
	next := s.backTo(path)
	for _, own := range []string{"/login", "/logout"} {
		if next == s.base+own || strings.HasPrefix(next, s.base+own+"?") {
			return s.base + "/"
		}
	}
	return next
}

// signIn starts a session and goes on where somebody was.
func (s *Server) signIn(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	r := c.Request()
	ctx := r.Context()
	if s.accounts == nil || s.auth != nil {
		return echo.ErrNotFound
	}
	page := views.Login{
		Name: strings.TrimSpace(form.Get("name")), Next: s.nextOf(form.Get("next")),
		Kept: views.KeptForm{Path: form.Get("kept_path"), Values: form.Get("kept")},
	}
	who := callerOf(ctx)
	var signed actors.SignedIn
	wait, err := s.try(who, page.Name, func() error {
		var err error
		signed, err = s.accounts.SignIn(ctx, actors.SignIn{
			Name: page.Name, Password: form.Get("password"), Former: cookieValue(c, sessionCookie(r)),
			Address: who.address, Agent: r.UserAgent(), RequestID: who.requestID,
		})
		return err
	})
	page.Name = views.OneLine(page.Name)
	switch {
	case wait > 0:
		page.Wait = int(math.Ceil(wait.Seconds()))
		c.Response().Header().Set("Retry-After", strconv.Itoa(page.Wait))
		return s.render(c, http.StatusTooManyRequests, views.LoginPage(page))
	case errors.Is(err, actors.ErrWrongPassword):
		s.logRefused(ctx, form.Get("name"), who)
		page.Wrong = true
		return s.render(c, http.StatusUnauthorized, views.LoginPage(page))
	case err != nil:
		return err
	}
	setCookie(c, s.cookiePath(), sessionCookie(r), signed.Secret, s.accounts.SessionLife())
	viewer := views.ViewerOf(ctx)
	viewer.User, viewer.Role, viewer.Account = signed.User.Name, signed.User.Role, true
	if fields, ok := page.Kept.Fields(); ok && isLocal(page.Kept.Path) {
		return s.render(c, http.StatusOK, views.ResendPage(views.Resend{Action: templ.SafeURL(page.Kept.Path), Fields: fields, Back: templ.SafeURL(page.Next)}))
	}
	return seeOther(c, page.Next)
}

// try lets somebody try a password, unless they have failed too often: then it gives how long they have to wait.
func (s *Server) try(who caller, name string, do func() error) (wait time.Duration, err error) {
	account, address := actors.NameKey(name), networkOf(who.address)
	if wait := s.tries.begin(account, address, time.Now()); wait > 0 {
		return wait, nil
	}
	err = do()
	if !errors.Is(err, actors.ErrWrongPassword) {
		s.tries.forgive(account, address)
	}
	return 0, err
}

// networkOf is what counts as one place: one has as many addresses of the sixth version as one likes.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil || ip.Unmap().Is4() {
		return address
	}
	network, _ := ip.Prefix(64)
	return network.String()
}

func (s *Server) logRefused(ctx context.Context, name string, who caller) {
	s.logger.LogAttrs(ctx, slog.LevelWarn, "a sign-in was refused", slog.String("name", views.OneLine(name)),
		slog.String("address", who.address), slog.String("request_id", who.requestID))
}

// signOut ends the session.
func (s *Server) signOut(c echo.Context) error {
	r := c.Request()
	ctx := r.Context()
	if secret := cookieValue(c, sessionCookie(r)); secret != "" && s.accounts != nil && callerOf(ctx).user != nil {
		if err := s.accounts.SignOut(ctx, secret, changeOf(ctx, "")); err != nil {
			return err
		}
	}
	setCookie(c, s.cookiePath(), sessionCookie(r), "", 0)
	return seeOther(c, string(views.URL(ctx, "/login")))
}
