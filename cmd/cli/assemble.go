package cli

import (
	"cmp"
	"fmt"
	"strings"

	"reax/actors"
	"reax/tasks"
	"reax/tasks/demo"
)

// configFlags are the flags, and by their environment variables the environment, that go over the file.
type configFlags struct {
	Config        string `from:"REAX_CONFIG" placeholder:"FILE" help:"The configuration file; ./reax.yaml if there is one."`
	Addr          string `from:"REAX_ADDR" placeholder:"HOST:PORT" help:"Where the dashboard and the API listen; 127.0.0.1:8080."`
	DB            string `name:"db" from:"REAX_DB" placeholder:"FILE" help:"The database file; ./reax.db."`
	Durability    string `from:"REAX_DURABILITY" placeholder:"full|normal" help:"Whether a power cut may take the last moments (normal) or nothing (full)."`
	ShutdownGrace string `from:"REAX_SHUTDOWN_GRACE" placeholder:"30s" help:"How long running tasks may go on when the server is asked to stop."`
	LogLevel      string `from:"REAX_LOG_LEVEL" placeholder:"LEVEL" help:"The least level that is logged: debug, info, warn or error; info."`
	LogFormat     string `from:"REAX_LOG_FORMAT" placeholder:"text|json" help:"How the log is written; text on a terminal, json otherwise."`
	LogDir        string `from:"REAX_LOG_DIR" placeholder:"FOLDER" help:"Write the log to a file a day in this folder; without it, to stderr."`
}

// over puts the flags over what the file says, and the defaults under it.
func (f configFlags) over(cfg Config) (Config, error) {
	cfg.Addr = cmp.Or(f.Addr, cfg.Addr, defaultAddr)
	cfg.Database = cmp.Or(f.DB, cfg.Database, defaultDatabase)
	cfg.Durability = cmp.Or(f.Durability, cfg.Durability, defaultDurability)
	cfg.LogLevel = cmp.Or(f.LogLevel, cfg.LogLevel)
	cfg.LogFormat = cmp.Or(f.LogFormat, cfg.LogFormat)
	cfg.LogDir = cmp.Or(f.LogDir, cfg.LogDir)
	if cfg.Durability != "full" && cfg.Durability != "normal" {
		return cfg, usagef("the durability must be full or normal, not %q", cfg.Durability)
	}
	if f.ShutdownGrace != "" {
		grace, err := parseDuration(f.ShutdownGrace)
		if err != nil {
			return cfg, usagef("the shutdown grace: %v", err)
		}
		if grace <= 0 || grace > maxShutdownGrace {
			return cfg, usagef("the shutdown grace must be longer than 0 and at most %s", formatDuration(maxShutdownGrace))
		}
		cfg.ShutdownGrace = grace
	}
	return cfg, nil
}

// assembly is a configuration that has been found good, with the task types it gives.
type assembly struct {
	Config   Config
	Registry *tasks.Registry
	Demo     bool // the types are the demonstration ones, because nothing else named any
}

// assemble reads the configuration and registers the task types: those of the program, then those of the file, and the
// demonstration types when there are none. The error lists all that is wrong.
func (a *app) assemble(f configFlags) (assembly, error) {
	cfg, found, err := readConfig(f.Config)
	if err != nil {
		return assembly{}, err
	}
	registry := tasks.NewRegistry()
	if a.register != nil {
		a.register(registry)
		if err := registry.Err(); err != nil {
			return assembly{}, err
		}
	}
	for _, t := range cfg.Tasks {
		if t.Bad {
			continue
		}
		if err := t.addTo(registry, cfg.Access.Outbound, a.env); err != nil {
			text := strings.TrimPrefix(err.Error(), fmt.Sprintf("task type %q: ", t.Name))
			found = append(found, problem{File: cfg.File, Line: t.Line, Path: "tasks." + t.Name, Text: text})
		}
	}
	demonstrates := len(registry.All()) == 0
	found = append(found, cfg.addAlerts(registry, a.env)...)
	if len(found) > 0 {
		return assembly{}, found.sorted()
	}
	asm := assembly{Registry: registry, Demo: demonstrates}
	if asm.Demo {
		demo.Register(registry)
		if err := registry.Err(); err != nil {
			return assembly{}, err
		}
	}
	if found := checkSchedules(cfg.Schedules, registry); len(found) > 0 {
		return assembly{}, found.sorted()
	}
	if found := cfg.Status.check(cfg.File, registry); len(found) > 0 {
		return assembly{}, found.sorted()
	}
	if err := actors.CheckSchedules(registry, cfg.scheduleSpecs()); err != nil {
		return assembly{}, cfg.scheduleProblems(err)
	}
	asm.Config, err = f.over(cfg)
	return asm, err
}

// checkSchedules names what is wrong with schedules now that the task types are known.
func checkSchedules(schedules []scheduleConfig, registry *tasks.Registry) (found problems) {
	var names []string
	for _, d := range registry.All() {
		names = append(names, d.Name)
	}
	for i := range schedules {
		c := &schedules[i]
		if _, ok := registry.Lookup(c.Task); !ok {
			found = append(found, c.problem("/task", fmt.Sprintf("there is no task type %q %s", c.Task, meant(c.Task, names))))
		}
	}
	return found
}

// warnings say what is likely to fail later, though it is no error now.
func (asm assembly) warnings() []string {
	var texts []string
	if text := asm.Config.Access.keyIsOpen(); text != "" {
		texts = append(texts, text)
	}
	for _, t := range asm.Config.Tasks {
		if text := t.warning(); text != "" {
			texts = append(texts, problem{File: asm.Config.File, Line: t.Line, Path: "tasks." + t.Name, Text: text}.String())
		}
	}
	return texts
}

// describe counts the types and the file's schedules, for the line that a server prints at its start.
func (asm assembly) describe() string {
	n := 0
	for _, d := range asm.Registry.All() {
		if !d.Internal {
			n++
		}
	}
	text := fmt.Sprintf("%d task types", n)
	if n == 1 {
		text = "1 task type"
	}
	if asm.Demo {
		text += " (demonstration)"
	}
	switch n := len(asm.Config.Schedules); n {
	case 0:
	case 1:
		text += " · 1 schedule"
	default:
		text += fmt.Sprintf(" · %d schedules", n)
	}
	return text
}
