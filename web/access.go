package web

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/views"
)

// Accounts is what the handlers use of *actors.Accounts. Its methods may be called from many goroutines.
type Accounts interface {
	Any(ctx context.Context) bool
	SignIn(ctx context.Context, in actors.SignIn) (actors.SignedIn, error)
	CheckPassword(ctx context.Context, name, password string) (models.User, error)
	Session(ctx context.Context, secret string, use bool) (models.SessionUser, error)
	SessionLife() time.Duration
	Holds(s *models.Session, at models.Instant) bool
	SignOut(ctx context.Context, secret string, c actors.Change) error
	EndSession(ctx context.Context, name string, id int64, c actors.Change) error
	EndSessions(ctx context.Context, name string, keep int64, c actors.Change) (int64, error)
	CreateUser(ctx context.Context, name string, role models.Role, password string, c actors.Change) (models.User, error)
	SetPassword(ctx context.Context, name, password string, keep int64, c actors.Change) (models.User, error)
	SetRole(ctx context.Context, name string, role models.Role, c actors.Change) (models.User, error)
	SetDisabled(ctx context.Context, name string, disabled bool, c actors.Change) (models.User, error)
	DeleteUser(ctx context.Context, name string, c actors.Change) error
	CreateToken(ctx context.Context, n actors.NewToken, c actors.Change) (models.Token, string, error)
	RevokeToken(ctx context.Context, name string, owner *models.User, c actors.Change) error
	Token(ctx context.Context, secret string) (models.Token, error)
}

// Identity is who sent a request, as the program that mounts a Server knows them.
type Identity struct {
	Name string      // for the record; not empty
	Role models.Role // what they may do
}

// byToken begins the name of a token in the record, so that none is taken for a person.
const byToken = "token:"

// signedOut and missingRole are the codes of refusals that are about who asks.
const (
	signedOut   = "signed_out"
	missingRole = "missing_role"
)

// authorize finds out who asks, and lets nobody do what their role does not allow. What each route needs stands where it
// is registered; an address that is no route is answered as such.
func (s *Server) authorize(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		who, _ := r.Context().Value(callerKey{}).(*caller)
		if who == nil {
			return echo.ErrForbidden // a request that did not come through serveAs
		}
		need, isRoute := s.roles[r.Method+" "+c.Path()]
		refusal := s.know(c, who)
		if !isRoute || need == anyone {
			return next(c) // whoever it is: a ledger that cannot be read must not fail it
		}
		if refusal == nil && !who.role.May(need) {
			refusal = newProblem(http.StatusForbidden, missingRole, "this needs the role %s; %s has the role %s", need, who.by, who.role)
		}
		if refusal == nil {
			refusal = s.withinScope(c, who)
		}
		if refusal == nil {
			return next(c)
		}
		if p, ok := errors.AsType[*problemJSON](refusal); ok && p.Code == signedOut {
			return s.askToSignIn(c, p)
		}
		s.fail(c, s.problem(r.Context(), refusal))
		return nil
	}
}

// answersFor reports whether the server may be asked by the name that the request has. Once people have to sign in, it may
// be asked by any address too: an address is no name that somebody else's DNS could point here.
func (s *Server) answersFor(r *http.Request) bool {
	name := hostName(r.Host)
	if s.hosts[name] {
		return true
	}
	if _, err := netip.ParseAddr(name); err != nil {
		return false
	}
	return s.auth != nil || s.accounts != nil && s.accounts.Any(r.Context())
}

// know fills in who it is. An error says why they are nobody.
func (s *Server) know(c echo.Context, who *caller) error {
	r := c.Request()
	ctx := r.Context()
	switch {
	case who.by == bySocket:
		who.role = models.RoleAdmin
		return nil
	case s.auth != nil:
		known, ok := s.auth(r)
		if !ok || !known.Role.IsRole() {
			return newProblem(http.StatusUnauthorized, signedOut, "sign in first")
		}
		who.by, who.role, who.external = known.Name, known.Role, true
		return nil
	case s.accounts == nil || !s.accounts.Any(ctx):
		if !isThisMachine(who.address) || who.relayed {
			return newProblem(http.StatusForbidden, "forbidden", "there are no accounts yet, so only this machine may ask; make one with reax user add NAME --role admin")
		}
		who.role, who.open, who.external = models.RoleAdmin, s.accounts != nil, s.accounts == nil
		return nil
	}
	if secret, ok := bearerOf(r); ok {
		return s.knowToken(ctx, who, secret)
	}
	return s.knowSession(c, who)
}

func (s *Server) knowToken(ctx context.Context, who *caller, secret string) error {
	token, err := s.accounts.Token(ctx, secret)
	if errors.Is(err, actors.ErrNoToken) {
		return newProblem(http.StatusUnauthorized, signedOut, "the token is not known, has expired or was revoked")
	}
	if err != nil {
		return err
	}
	who.by, who.role, who.types = byToken+token.Name, token.Role, token.Types.Names()
	return nil
}

func (s *Server) knowSession(c echo.Context, who *caller) error {
	r := c.Request()
	// What a page asks for by itself does not count as use: it would keep a forgotten tab signed in for ever.
	found, err := s.accounts.Session(r.Context(), cookieValue(c, sessionCookie(r)), !isByItself(r))
	if errors.Is(err, actors.ErrNoSession) {
		return newProblem(http.StatusUnauthorized, signedOut, "sign in first, or send a token: Authorization: Bearer TOKEN")
	}
	if err != nil {
		return err
	}
	// A browser says where a change comes from. What does not say it is no form of ours, and no program has a session.
	if changes(r.Method) && r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
		return newProblem(http.StatusForbidden, "forbidden", "changes that do not say which page they come from are refused; programs use a token")
	}
	who.by, who.role, who.user, who.session = found.User.Name, found.User.Role, &found.User, found.Session.ID
	return nil
}

// isByItself reports whether a page asks, and not the person in front of it.
func isByItself(r *http.Request) bool {
	return r.Header.Get(fragmentsHeader) != "" || strings.HasSuffix(r.URL.Path, "/events")
}

func changes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

// bearerOf is the token of a request. Of any other kind of Authorization nothing is known, so it is a wrong token.
func bearerOf(r *http.Request) (string, bool) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return "", false
	}
	kind, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(kind, "Bearer") {
		return "", true
	}
	return strings.TrimSpace(secret), true
}

func isThisMachine(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && ip.Unmap().IsLoopback()
}

// requireRole refuses whoever has not the role, in handlers whose least role depends on what is asked for.
func requireRole(ctx context.Context, role models.Role) error {
	if who := callerOf(ctx); !who.role.May(role) {
		return newProblem(http.StatusForbidden, missingRole, "this needs the role %s; %s has the role %s", role, who.by, who.role)
	}
	return nil
}

// requireFor refuses whoever may not do an action to tasks.
func requireFor(ctx context.Context, action actors.Action) error {
	if action == actors.ActionDiscard {
		return requireRole(ctx, admin)
	}
	return requireRole(ctx, operator)
}

// stillKnown reports whether who asked would still be let in, for answers that go on for long.
func (s *Server) stillKnown(c echo.Context) bool {
	again := *callerPointer(c)
	return s.know(c, &again) == nil
}

func callerPointer(c echo.Context) *caller {
	if who, ok := c.Request().Context().Value(callerKey{}).(*caller); ok {
		return who
	}
	return &caller{}
}

// viewedBy tells the page who looks at it.
func viewedBy(v *views.Viewer, who caller) {
	v.Role, v.Open, v.External = who.role, who.open, who.external
	if who.user != nil {
		v.User, v.Account = who.user.Name, true
	} else if !who.open {
		v.User = who.by
	}
}
