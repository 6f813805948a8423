// Package web is everything that reax says over HTTP: the JSON API, the health checks and the pages. Handlers read from
// the ledger and change things only through the runtime; they never write a row.
package web

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

// Runtime is what the handlers use of *actors.Runtime. Its methods may be called from many goroutines.
type Runtime interface {
	Enqueue(ctx context.Context, req actors.EnqueueRequest) (actors.Enqueued, error)
	EnqueueBatch(ctx context.Context, reqs []actors.EnqueueRequest) ([]actors.Enqueued, error)
	Retry(ctx context.Context, id int64, c actors.Change) (models.Task, error)
	Cancel(ctx context.Context, id int64, c actors.Change) (models.Task, error)
	Discard(ctx context.Context, id int64, c actors.Change) (models.Task, error)
	Repeat(ctx context.Context, id int64, params json.RawMessage, c actors.Change) (actors.Enqueued, error)
	Bulk(ctx context.Context, req actors.BulkRequest) (actors.BulkReport, error)
	Pause(ctx context.Context, typ string, c actors.Change) error
	Resume(ctx context.Context, typ string, c actors.Change) error
	Resize(ctx context.Context, typ string, n int, c actors.Change) error
	CreateSchedule(ctx context.Context, spec actors.ScheduleSpec, c actors.Change) (models.Schedule, error)
	UpdateSchedule(ctx context.Context, name string, patch actors.SchedulePatch, c actors.Change) (models.Schedule, error)
	DeleteSchedule(ctx context.Context, name string, c actors.Change) error
	PauseSchedule(ctx context.Context, name string, until time.Time, c actors.Change) (models.Schedule, error)
	ResumeSchedule(ctx context.Context, name string, c actors.Change) (models.Schedule, error)
	RunSchedule(ctx context.Context, name string, c actors.Change) (actors.Enqueued, error)
	PlanBulk(ctx context.Context, req actors.BulkRequest) (models.BulkRun, error)
	StartBulk(ctx context.Context, id int64, spread time.Duration, c actors.Change) (models.BulkRun, error)
	StopBulk(ctx context.Context, id int64, c actors.Change) (models.BulkRun, error)
	TryPatch(ctx context.Context, ids []int64, patch json.RawMessage) ([]actors.PatchTried, error)
	MarkGroup(ctx context.Context, m models.GroupMark, c actors.Change) (models.GroupMark, error)
	OpenIncident(ctx context.Context, n actors.NewIncident, c actors.Change) (models.Incident, error)
	UpdateIncident(ctx context.Context, id int64, state, text string, c actors.Change) (models.Incident, error)
	EditIncident(ctx context.Context, id int64, to actors.NewIncident, c actors.Change) (models.Incident, error)
	Why(ctx context.Context, t *models.Task) (actors.Why, error)
	Pool(typ string) (actors.PoolStatus, bool)
	Registry() *tasks.Registry
	Health() actors.Health
	Gauges() []actors.Gauge
	Figures() actors.Figures
	Alerts
	Tree() []actors.TreeRow
	Subscribe(f func(topics []string)) (unsubscribe func())
}

// Ledger is what the handlers read of *models.Store. Its methods may be called from many goroutines; they return
// models.ErrNotFound when the row that was asked for is not there.
type Ledger interface {
	StatusLedger
	Task(ctx context.Context, id int64) (models.Task, error)
	Attempts(ctx context.Context, taskID int64) ([]models.Attempt, error)
	List(ctx context.Context, f models.Filter, limit int) (models.Page, error)
	LatestAttempts(ctx context.Context, taskID int64, before, limit int) ([]models.Attempt, error)
	Logs(ctx context.Context, taskID int64, attempt, afterSeq, limit int) ([]models.LogLine, error)
	LogTail(ctx context.Context, taskID int64, attempt, before, limit int) ([]models.LogLine, error)
	Traced(ctx context.Context, traceID string, limit int) ([]models.Task, error)
	Repeats(ctx context.Context, id int64, limit int) ([]models.Task, error)
	LatestLogs(ctx context.Context, taskID int64, limit int) ([]models.LogLine, error)
	AuditOf(ctx context.Context, target, targetID string, limit int) ([]models.Audit, error)
	AuditPage(ctx context.Context, f models.AuditFilter, limit int) (models.AuditPage, error)
	AuditKept(ctx context.Context) (models.Instant, error)
	Schedules(ctx context.Context) ([]models.Schedule, error)
	SchedulePage(ctx context.Context, text, after string, limit int) ([]models.Schedule, error)
	Schedule(ctx context.Context, name string) (models.Schedule, error)
	TaskStates(ctx context.Context, ids []int64) (map[int64]models.State, error)
	Occurrences(ctx context.Context, scheduleID int64, limit int) ([]models.Occurrence, error)
	Counts(ctx context.Context) ([]models.Count, error)
	MinuteStats(ctx context.Context, from, to models.Instant) ([]models.MinuteStat, error)
	Boots(ctx context.Context, from models.Instant) ([]models.Boot, error)
	AuditMarks(ctx context.Context, from, to models.Instant, limit int) ([]models.AuditMark, error)
	NextRetry(ctx context.Context) (models.Instant, error)
	ErrorGroups(ctx context.Context, limit int) ([]models.ErrorGroup, error)
	LatestFailure(ctx context.Context, at models.Instant) (models.Instant, error)
	BulkRun(ctx context.Context, id int64) (models.BulkRun, error)
	BulkRuns(ctx context.Context, before int64, limit int) ([]models.BulkRun, error)
	BulkSet(ctx context.Context, id int64) ([]int64, error)
	BulkSkips(ctx context.Context, id int64, limit int) ([]models.BulkSkip, error)
	ErrorGroup(ctx context.Context, typ, fingerprint string) (models.ErrorGroup, error)
	ErrorSample(ctx context.Context, typ, fingerprint string, limit int) ([]models.Task, error)
	ErrorTimes(ctx context.Context, typ, fingerprint string, limit int) ([]models.Instant, error)
	Failures(ctx context.Context, since []models.Instant) (map[string][]int64, error)
	Previews(ctx context.Context, ids []int64) ([]models.Task, error)
	Users(ctx context.Context) ([]models.User, error)
	User(ctx context.Context, nameKey string) (models.User, error)
	SessionsOf(ctx context.Context, userID int64) ([]models.Session, error)
	Tokens(ctx context.Context) ([]models.Token, error)
	TokensOf(ctx context.Context, userID int64) ([]models.Token, error)
	AlertLedger
}

// Config is what a Server needs. Runtime and Ledger must be set.
type Config struct {
	Runtime      Runtime
	Ledger       Ledger
	Logger       *slog.Logger // default slog.Default()
	Version      string       // as the pages and the OpenAPI document show it
	BasePath     string       // where the server is mounted, e.g. "/reax"; empty for the root
	AllowedHosts []string     // host names beside localhost that requests may be addressed to, without ports

	// TrustedProxies are the addresses of proxies whose word counts for where a request comes from, for its scheme and for
	// the path that they take off: X-Forwarded-For or Forwarded, X-Forwarded-Proto, X-Forwarded-Prefix.
	TrustedProxies []netip.Prefix

	// Status is what strangers may see of it all; the zero value is nothing.
	Status StatusConfig

	// Accounts keeps who may sign in, and the tokens. Without it, and as long as it has no account, this machine may do
	// everything and any other nothing.
	Accounts Accounts
	// Auth, if set, says who sent a request, and whether they may ask at all; the accounts, sessions and tokens of reax are
	// not looked at then, nor is there a sign-in page. It is for a program that mounts the Server behind its own sign-in,
	// is called for every request of Handler, and may be called from many goroutines.
	Auth func(r *http.Request) (Identity, bool)
}

// Server answers HTTP requests. It owns no listener and no goroutine: the program that mounts it does.
type Server struct {
	runtime Runtime
	ledger  Ledger
	logger  *slog.Logger
	version string
	base    string
	hosts   map[string]bool
	proxies []netip.Prefix // whose word counts
	echo    *echo.Echo
	openapi []byte
	bodies  map[string]*bodyCheck  // by operation id; an operation without an entry takes no body
	roles   map[string]models.Role // the least role by method and route; fixed once New has returned
	streams streams
	sent    sentForms

	accounts Accounts // nil when there can be none
	auth     func(r *http.Request) (Identity, bool)
	tries    *tries // of signing in

	overview snapshots
	failures atomic.Pointer[failures]
	samples  groupSamples
	status   *statusPage
}

// New makes a Server. It panics when BasePath is not a plain path, which is a mistake in the program and not in its
// input.
func New(cfg Config) *Server {
	base := strings.TrimSuffix(cfg.BasePath, "/")
	if base != "" && (base[0] != '/' || strings.ContainsAny(base, ":*{}?# ")) {
		panic(fmt.Sprintf("web: %q is not a base path", cfg.BasePath))
	}
	s := &Server{
		runtime: cfg.Runtime, ledger: cfg.Ledger, logger: cfg.Logger, version: cfg.Version, base: base,
		hosts: allowedHosts(cfg.AllowedHosts), proxies: cfg.TrustedProxies, bodies: map[string]*bodyCheck{}, roles: map[string]models.Role{},
		streams: streams{ending: make(chan struct{})}, accounts: cfg.Accounts, auth: cfg.Auth, tries: newTries(), status: newStatusPage(cfg.Status),
	}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	s.echo = echo.New()
	s.echo.HTTPErrorHandler = s.writeEchoError
	// Behind no proxy that we know of, a forwarded address is only a claim.
	s.echo.IPExtractor = echo.ExtractIPDirect()
	s.echo.Use(decodeNames, s.identify, s.logRequest, s.recoverPanic, s.guard, s.authorize)

	api := humaecho.NewWithGroup(s.echo, s.echo.Group(base), s.apiConfig())
	api.UseMiddleware(s.checkBody)
	s.routes(api)
	s.requireRoles()
	s.openapi = document(api.OpenAPI())
	return s
}

// Handler serves requests from the network. Its paths start with BasePath.
func (s *Server) Handler() http.Handler { return s.serveAs(byAPI) }

// SocketHandler serves requests from a local socket that only its owner can open: they are recorded as such, and their
// Host header has no meaning.
func (s *Server) SocketHandler() http.Handler { return s.serveAs(bySocket) }

// Who asked, as EnqueuedBy and the audit record it.
const (
	byAPI    = "api"
	bySocket = "socket"
)

// caller is what is known of who sent a request.
type caller struct {
	by, requestID string
	origin

	role     models.Role  // what they may do; empty is nothing
	open     bool         // nobody has to sign in, since there are no accounts
	external bool         // the program that mounts the server knows them
	user     *models.User // who is signed in by a session; nil for a program and for who is not
	session  int64        // the id of the session
	types    []string     // the task types that a token is limited to; none is no limit
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	if c == nil {
		return caller{}
	}
	return *c
}

// changeOf makes the record of who changes something, and why.
func changeOf(ctx context.Context, reason string) actors.Change {
	c := callerOf(ctx)
	return actors.Change{By: c.by, Reason: reason, Address: c.address, RequestID: c.requestID}
}

func (s *Server) serveAs(by string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := &caller{by: by}
		if by != bySocket {
			who.origin = s.originOf(r)
		}
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, who))
		address := *r.URL
		address.RawPath = routingPath(r.URL)
		r.URL = &address
		if by == bySocket && s.base != "" && !strings.HasPrefix(r.URL.Path, s.base+"/") {
			who.origin.prefix = s.base // commands on this machine need not know the base path
		}
		s.mount(r, &who.origin)
		// The server below us keeps the body of an answer to HEAD to itself, so that HEAD needs no routes of its own.
		if r.Method == http.MethodHead {
			r.Method = http.MethodGet
		}
		s.echo.ServeHTTP(w, r)
	})
}

// apiConfig is huma's configuration, without the parts of its default that load scripts from elsewhere, add fields of
// their own to our answers, or serve documents without a lock.
func (s *Server) apiConfig() huma.Config {
	cfg := huma.DefaultConfig("reax", s.version)
	cfg.Info.Description = "Accept tasks, watch them and repair them. Instants are RFC 3339 in UTC with microseconds. " +
		"Errors are problem details (RFC 9457) with a stable code; their locations are JSON pointers into the body, or " +
		"path.NAME, query.NAME and header.NAME."
	cfg.Servers = []*huma.Server{{URL: s.base + "/"}}
	cfg.Components.Schemas = newSchemas()
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		tokenScheme: {Type: "http", Scheme: "bearer", Description: "A token. None is needed on the local socket, nor as long as there are no accounts."},
	}
	cfg.CreateHooks = nil
	cfg.OpenAPIPath, cfg.DocsPath, cfg.SchemasPath = "", "", ""
	cfg.RejectUnknownQueryParameters = true
	cfg.Transformers = []huma.Transformer{asProblem}
	return cfg
}
