package web

import (
	"log/slog"
	"runtime"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"reax/actors"
	"reax/models"
)

// metricScrapes is how many scrapes are answered at one time.
const metricScrapes = 4

// metricsHandler answers in the format that the scraper asks for. Only OpenMetrics has room for exemplars. The registry is
// our own: what libraries put into the global one is not ours to promise.
func (s *Server) metricsHandler() echo.HandlerFunc {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&runtimeMetrics{s},
	)
	return echo.WrapHandler(promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: metricScrapes, ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn),
	}))
}

// metric describes a metric, which is reax_ and its name.
func metric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("reax_"+name, help, labels, nil)
}

// The metrics. Names follow the conventions of Prometheus: base units, and _total for what is counted. The labels are
// bounded: a type is a registered one or "other", the rest are words of ours.
var (
	buildInfoDesc = metric("build_info", "Always 1; the version is in the labels.", "version", "goversion")
	healthDesc    = metric("health", "1 for the status that /healthz has, 0 for the others.", "status")
	causeDesc     = metric("health_causes", "What keeps the status from being ok, by kind of cause.", "cause")
	successDesc   = metric("success_ratio", "Of the runs that ended in the last five minutes; NaN when none did.")
	writableDesc  = metric("database_writable", "1 when changes can be stored, 0 when they wait in memory.")

	tasksDesc         = metric("tasks", "Tasks in the ledger, by type and state.", "type", "state")
	tasksReadyDesc    = metric("tasks_ready", "Tasks that only wait for a worker: the backlog.", "type")
	oldestWaitDesc    = metric("oldest_wait_seconds", "How long the first of the tasks that wait for a worker has waited; 0 when none does.")
	tasksEnqueuedDesc = metric("tasks_enqueued_total", "Tasks accepted.", "type")
	tasksStartedDesc  = metric("tasks_started_total", "Runs started.", "type")
	tasksFinishedDesc = metric("tasks_finished_total", "Runs that ended, and tasks that were cancelled before one, by outcome.", "type", "outcome")
	tasksPromotedDesc = metric("tasks_promoted_total", "Tasks that waiting lifted over more urgent ones.", "type")
	taskWaitDesc      = metric("task_wait_seconds", "From the moment a task could run to its start.", "type")
	taskRunDesc       = metric("task_run_seconds", "From the start of a run to its end.", "type")

	workersDesc       = metric("workers", "Workers, by type.", "type")
	workersBusyDesc   = metric("workers_busy", "Workers that have a run, by type.", "type")
	handlersStuckDesc = metric("handlers_stuck", "Handlers that ignored the end of their context and still run.", "type")
	typePausedDesc    = metric("type_paused", "1 when a type takes no tasks: paused by a person, or by itself because of stuck handlers.", "type")

	actorsDesc        = metric("actors", "Live actors, by kind.", "kind")
	actorMailboxDesc  = metric("actor_mailbox_messages", "Messages that wait for actors of a kind.", "kind")
	actorRestartsDesc = metric("actor_restarts_total", "Restarts of actors after a crash; those of workers are panics of handlers.", "kind")
	deadLettersDesc   = metric("dead_letters_total", "Messages that reached no actor.")

	journalBatchDesc  = metric("journal_batch_changes", "Changes in one transaction of the journal.")
	journalCommitDesc = metric("journal_commit_seconds", "How long a transaction of the journal took, with its commit.")

	databaseBytesDesc = metric("database_bytes", "Size of the database file.")
	walBytesDesc      = metric("database_wal_bytes", "Size of the write-ahead log beside it.")
	diskFreeDesc      = metric("database_disk_free_bytes", "Room that is left on the disk of the database.")
	diskTotalDesc     = metric("database_disk_bytes", "Size of the disk of the database.")

	occurrencesDesc    = metric("schedule_occurrences_total", "What became of the times of schedules.", "outcome")
	latenessDesc       = metric("schedule_lateness_seconds", "From the time of a schedule to its task.")
	schedulesWrongDesc = metric("schedules_faulty", "Schedules that cannot run.")
	schedulesDueDesc   = metric("schedules_overdue", "Schedules whose time has passed and of which nothing came; counted up to 3.")
)

// runtimeMetrics turns the figures of the runtime into metrics, anew for each scrape.
type runtimeMetrics struct{ server *Server }

// Describe tells nothing: what there is depends on the types, and Collect checks itself.
func (m *runtimeMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect reads the figures once, so that one scrape tells of one moment.
func (m *runtimeMetrics) Collect(out chan<- prometheus.Metric) {
	f := m.server.runtime.Figures()
	c := collection{out}
	c.gauge(buildInfoDesc, 1, m.server.version, runtime.Version())
	c.health(&f)
	for i := range f.Types {
		c.taskType(&f.Types[i])
	}
	for _, k := range f.Kinds {
		c.gauge(actorsDesc, float64(k.Actors), k.Kind)
		c.gauge(actorMailboxDesc, float64(k.Mailbox), k.Kind)
		c.counter(actorRestartsDesc, k.Restarts, k.Kind)
	}
	c.counter(deadLettersDesc, f.DeadLetters)
	c.sizes(journalBatchDesc, f.Journal.Sizes[:], f.Journal.Changes)
	c.timing(journalCommitDesc, &f.Journal.Commit)
	c.gauge(databaseBytesDesc, float64(f.DatabaseBytes))
	c.gauge(walBytesDesc, float64(f.WALBytes))
	c.schedules(&f.Schedules)
}

var outcomesOfOccurrences = []string{
	models.OccurrenceEnqueued, models.OccurrenceMissed, models.OccurrenceOverlap, models.OccurrenceQueued, models.OccurrenceError,
}

var healthStatuses = []string{actors.StatusOK, actors.StatusDegraded, actors.StatusDraining, actors.StatusDown}
