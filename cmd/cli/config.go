package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"reax/actors"
)

// Names and values that hold when nothing else is said.
const (
	defaultConfigFile = "reax.yaml"
	defaultDatabase   = "reax.db"
	defaultAddr       = "127.0.0.1:8080"
	defaultDurability = "full"
)

const (
	defaultShutdownGrace = 30 * time.Second // the runtime's own

	maxShutdownGrace = 24 * time.Hour
	maxPromote       = 365 * day
	maxRetention     = 36_500 * day
	maxSession       = 365 * day
)

// Config is what a configuration file, the environment and the flags say together. Zero durations mean the runtime's
// own defaults.
type Config struct {
	File          string // the file it was read from; empty when there is none
	Dir           string // where relative paths in the file begin
	Addr          string
	Database      string
	Durability    string // full or normal
	ShutdownGrace time.Duration
	Retention     actors.Retention
	PromoteBase   time.Duration
	PromoteStep   time.Duration
	LogLevel      string // debug, info, warn or error
	LogFormat     string // text or json; empty chooses by whether the log goes to a terminal
	LogDir        string // folder of daily log files; empty means stderr
	LogKeepDays   int    // how long they are kept; 0 means 30
	AllowedHosts  []string
	SessionIdle   time.Duration // how long a session may go unused
	SessionLife   time.Duration // how long a session lasts at most
	OTLP          otlpConfig
	Access        accessConfig
	Status        statusConfig
	Tasks         []taskConfig
	Schedules     []scheduleConfig
	PublicURL     string // of the dashboard, for links in messages
	Alerts        alertsConfig
}

// readConfig finds and reads the configuration file: the one named, which must exist, or ./reax.yaml if there is one.
// The problems found in it come beside as much of the configuration as could be read; an error means that there is a
// file and it could not be read at all.
func readConfig(named string) (Config, problems, error) {
	file := named
	if file == "" {
		file = defaultConfigFile
	}
	data, err := readLimited(file, maxConfigBytes+1)
	switch {
	case named == "" && errors.Is(err, fs.ErrNotExist):
		return Config{}, nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return Config{}, nil, fmt.Errorf("there is no configuration file %s", file)
	case err != nil:
		return Config{}, nil, fmt.Errorf("reading the configuration file: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return Config{}, nil, fmt.Errorf("finding the folder of %s: %w", file, err)
	}
	cfg, found := parseConfig(file, dir, data)
	return cfg, found, nil
}

// readLimited reads at most limit bytes of a regular file: a pipe or a device would block or never end.
func readLimited(file string, limit int64) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// parseConfig reads the text of a configuration file. It touches nothing outside data.
func parseConfig(file, dir string, data []byte) (Config, problems) {
	cfg := Config{File: file, Dir: dir}
	doc, root, ok := parseDocument(file, data)
	if !ok {
		return cfg, doc.problems.sorted()
	}
	fields := map[string]func(value){
		"addr":           func(v value) { cfg.Addr = v.text() },
		"database":       func(v value) { cfg.Database = inDir(dir, v.text()) },
		"durability":     func(v value) { cfg.Durability = v.oneOf("full", "normal") },
		"shutdown_grace": func(v value) { cfg.ShutdownGrace = v.duration(false, maxShutdownGrace) },
		"promote_base":   func(v value) { cfg.PromoteBase = v.duration(false, maxPromote) },
		"promote_step":   func(v value) { cfg.PromoteStep = v.duration(false, maxPromote) },
		"allowed_hosts":  func(v value) { cfg.AllowedHosts = v.texts() },
		"sessions": func(v value) {
			v.mapping(map[string]func(value){
				"idle":     func(v value) { cfg.SessionIdle = v.duration(false, maxSession) },
				"absolute": func(v value) { cfg.SessionLife = v.duration(false, maxSession) },
			})
		},
		"retention": func(v value) {
			keep := func(d *time.Duration) func(value) { return func(v value) { *d = v.duration(false, maxRetention) } }
			v.mapping(map[string]func(value){
				"success":   keep(&cfg.Retention.Success),
				"failed":    keep(&cfg.Retention.Failed),
				"dead":      keep(&cfg.Retention.Dead),
				"cancelled": keep(&cfg.Retention.Cancelled),
				"audit":     keep(&cfg.Retention.Audit),
			})
		},
		"log": func(v value) {
			v.mapping(map[string]func(value){
				"level":  func(v value) { cfg.LogLevel = v.oneOf(logLevels...) },
				"format": func(v value) { cfg.LogFormat = v.oneOf(logFormats...) },
				"dir":    func(v value) { cfg.LogDir = inDir(dir, v.text()) },

				"keep_days": func(v value) { cfg.LogKeepDays = v.whole(1, maxKeepDays) },
			})
		},
		"otlp":       func(v value) { cfg.OTLP = parseOTLP(v) },
		"public_url": func(v value) { cfg.PublicURL = v.publicURL() },
		"alerts":     func(v value) { cfg.Alerts = parseAlerts(dir, v) },
		"status":     func(v value) { cfg.Status.read(dir, v) },
		"tasks": func(v value) {
			v.entries(func(name string, item value) { cfg.Tasks = append(cfg.Tasks, parseTask(name, dir, item)) })
		},
		"schedules": func(v value) {
			v.entries(func(name string, item value) { cfg.Schedules = append(cfg.Schedules, parseSchedule(name, item)) })
		},
	}
	maps.Copy(fields, cfg.Access.fields(dir))
	root.mapping(fields)
	return cfg, doc.problems.sorted()
}

// inDir is path seen from dir; an empty path stays empty.
func inDir(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
