package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/web"
)

// Limits of the two HTTP servers. There is no write timeout: event streams stay open, and every call has its own limit.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	httpStopTimeout   = 5 * time.Second  // for calls that run when the server stops
	runtimeStopTime   = 15 * time.Second // after the grace of the tasks that run
)

// gcPercent trades memory for time: what lives is a few megabytes, and at Go's default the collector would run many
// times a second under load to save another few. GOGC in the environment wins.
const gcPercent = 400

type serveCmd struct {
	configFlags
}

// Run serves until a signal or the end of ctx. A second signal ends it at once.
func (c *serveCmd) Run(ctx context.Context, a *app) error {
	asm, err := a.assemble(c.configFlags)
	if err != nil {
		return err
	}
	logger, log, err := openLog(a.stderr, asm.Config)
	if err != nil {
		return err
	}
	defer log.Close()
	for _, text := range asm.warnings() {
		logger.Warn("a task type may not work", "warning", text)
	}
	signals := a.signals
	if signals == nil {
		signals = make(chan os.Signal, 2)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
	}
	if a.env("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &server{app: a, assembly: asm, logger: logger}
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx) }()
	for asked := false; ; asked = true {
		select {
		case err := <-done:
			if asked && errors.Is(err, context.Canceled) {
				return nil // it was asked to stop before it had started
			}
			return err
		case sig := <-signals:
			if asked {
				return s.abandoned()
			}
			logger.Info("stopping; a second signal ends at once", "signal", sig.String())
			stop()
		}
	}
}

// server is one reax serve.
type server struct {
	*app
	assembly
	logger  *slog.Logger
	runtime atomic.Pointer[actors.Runtime]
}

// serve is the wiring: every part in the order in which it starts. The deferred calls stop them in the reverse order.
func (s *server) serve(ctx context.Context) (err error) {
	cfg := s.Config
	addr, loopback, err := listenAddress(ctx, cfg.Addr)
	if err != nil {
		return err
	}
	hosts := cfg.AllowedHosts
	if !loopback {
		hosts = hostNames(hosts, addr)
		if _, err := os.Stat(cfg.Database); errors.Is(err, fs.ErrNotExist) {
			return needsAccount(cfg.Addr, cfg.Database)
		}
	}
	status, err := cfg.Status.page(loopback, s.env)
	if err != nil {
		return err
	}
	also := func(doing string, stop func() error) {
		if e := stop(); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", doing, e))
		}
	}

	// 1. The ledger, whose lock makes this process the only one on it.
	store, err := models.Open(ctx, models.Config{Path: cfg.Database, Durability: cfg.Durability, Logger: s.logger})
	if err != nil {
		return err
	}
	defer also("closing the database", store.Close)
	if !loopback {
		if has, err := store.HasUsers(ctx); err != nil {
			return err
		} else if !has {
			return needsAccount(cfg.Addr, cfg.Database)
		}
	}

	counts, err := store.Counts(ctx)
	if err != nil {
		return fmt.Errorf("counting the tasks that wait: %w", err)
	}
	waiting := unfinished(counts)

	var secure *tls.Config
	scheme := "http"
	if cfg.Access.TLS.isSet() {
		if secure, err = newTLS(cfg.Access.TLS, s.logger); err != nil {
			return err
		}
		scheme = "https"
	}

	// 2. The listeners, so that an address in use is found before any task runs.
	network, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", addr, err)
	}
	defer network.Close() // which the HTTP server has done already, if it came that far
	local, err := listenSocket(ctx, filepath.Join(filepath.Dir(store.Path()), socketName))
	if errors.Is(err, errNoSocket) {
		s.logger.Warn("commands on this machine need REAX_URL", "error", err)
	} else if err != nil {
		return err
	} else {
		defer local.Close()
	}

	tracer, stopTracing, err := startTracing(ctx, cfg.OTLP, s.env, s.logger)
	if err != nil {
		return err
	}
	defer also("sending the last spans", stopTracing)

	// What commands of a killed server left running must not meet the next runs of their tasks.
	if n, err := tasks.EndStrays(ctx, store.Path()); err != nil {
		s.logger.Warn("the commands of a former server have left processes that do not end", "error", err)
	} else if n > 0 {
		s.logger.Warn("processes were ended that the commands of a former server had left running", "processes", n)
	}

	// 3. The runtime: from here on tasks run.
	defer tasks.CloseIdleConnections()
	runtime, err := actors.Start(ctx, store, s.Registry, actors.Options{
		Logger: s.logger, Version: Version, Tracer: tracer, ShutdownGrace: cfg.ShutdownGrace,
		PromoteBase: cfg.PromoteBase, PromoteStep: cfg.PromoteStep, Retention: cfg.Retention,
		FileSchedules: cfg.scheduleSpecs(), Alerts: cfg.Alerts.options(), SessionIdle: cfg.SessionIdle, SessionLife: cfg.SessionLife,
		Days: status.Days(),
	})
	if err != nil {
		return cfg.scheduleProblems(err)
	}
	defer also("stopping the runtime", func() error {
		limit, cancel := context.WithTimeout(context.Background(), cmp.Or(cfg.ShutdownGrace, defaultShutdownGrace)+runtimeStopTime)
		defer cancel()
		return runtime.Stop(limit)
	})
	s.runtime.Store(runtime)

	// 4. HTTP: the same pages and API on the network and, for who owns the database, on the socket.
	site := web.New(web.Config{
		Runtime: runtime, Ledger: store, Logger: s.logger, Version: Version, AllowedHosts: hosts,
		Accounts: runtime.Accounts(), Status: status,
		BasePath: cfg.Access.BasePath, TrustedProxies: cfg.Access.TrustedProxies,
	})
	https := startHTTP(s.logger, network, secure, site.Handler(), local, site.SocketHandler())
	defer also("stopping HTTP", https.stop)
	defer site.EndStreams() // before HTTP stops, or it would wait for them

	fmt.Fprintf(s.stdout, "reax %s listening on %s://%s%s · database %s · %s · %d waiting\n",
		Version, scheme, network.Addr(), cfg.Access.BasePath, cleanLine(cfg.Database), s.describe(), waiting)
	logStart(s.logger, s.assembly, network.Addr(), counts)
	select {
	case err := <-https.failed:
		return err
	case <-ctx.Done():
	}
	// What runs may end while HTTP still answers, so that health can say that the server is draining.
	return runtime.Drain(context.Background())
}

// abandoned says what a second signal leaves behind.
func (s *server) abandoned() error {
	left := "nothing was running yet"
	if runtime := s.runtime.Load(); runtime != nil {
		switch n := runtime.Health().WorkersBusy; n {
		case 0:
			left = "no task was running"
		case 1:
			left = "1 task was still running and will be recovered at the next start"
		default:
			left = fmt.Sprintf("%d tasks were still running and will be recovered at the next start", n)
		}
	}
	return errors.New("stopped at once by a second signal: " + left)
}

// httpServers are HTTP servers that start and stop together.
type httpServers struct {
	servers []*http.Server
	ended   chan struct{} // one for each server that has ended
	failed  chan error    // the first server that ended though nobody stopped it
}

// startHTTP serves the network, with TLS if secure is not nil, and, if it is not nil, the local listener.
func startHTTP(logger *slog.Logger, network net.Listener, secure *tls.Config, forNetwork http.Handler, local net.Listener, forLocal http.Handler) *httpServers {
	h := &httpServers{failed: make(chan error, 2), ended: make(chan struct{}, 2)}
	start := func(listener net.Listener, secure *tls.Config, handler http.Handler) {
		srv := &http.Server{
			Handler: handler, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, TLSConfig: secure,
			ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		}
		h.servers = append(h.servers, srv)
		go func() {
			defer func() { h.ended <- struct{}{} }()
			serve := srv.Serve
			if secure != nil {
				serve = func(l net.Listener) error { return srv.ServeTLS(l, "", "") }
			}
			if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
				h.failed <- fmt.Errorf("serving %s: %w", listener.Addr(), err)
			}
		}()
	}
	start(network, secure, forNetwork)
	if local != nil {
		start(local, nil, forLocal)
	}
	return h
}

// stop lets calls that run end, and breaks off those that do not, such as event streams.
func (h *httpServers) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), httpStopTimeout)
	defer cancel()
	var errs []error
	for _, srv := range h.servers {
		if err := srv.Shutdown(ctx); err != nil {
			errs = append(errs, srv.Close())
		}
	}
	for range h.servers {
		<-h.ended
	}
	return errors.Join(errs...)
}
