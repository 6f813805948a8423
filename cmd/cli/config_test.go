package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/tasks"
	"reax/timetable"
)

const fullConfig = `# everything there is
addr: localhost:9090
database: data/ledger.db
durability: normal
shutdown_grace: 45s
promote_base: 10m
promote_step: 1m
allowed_hosts: [reax.example, 10.0.0.7]
retention:
  success: 7d
  failed: 30d
  dead: 90d
  cancelled: 1d12h
log: {level: debug, format: json}
tasks:
  report.generate:
    description: Makes the daily report
    command: [python3, reports/generate.py, --level, 3]
    timeout: 2m
    max_retries: 5
    backoff: {base: 1s, max: 1h}
    priority: 2
    concurrency: 8
    on_crash: hold
    retry: marked
    permanent_exit_codes: [2, 64]
    dir: scripts
    env: {PORT: 8080, DEBUG: true}
    params:
      type: object
      required: [user_id]
      properties:
        user_id: {type: integer, maximum: 12345678901234567890123, title: User}
        "date": {type: string, format: date, default: 2026-01-01}
  sms.push:
    http:
      url: http://127.0.0.1:9000/sms
      headers: {X-Team: ops}
      secret: hush
schedules:
  daily/report:
    task: report.generate
    cron: "0 7 * * *"
    timezone: Asia/Shanghai
    params: {user_id: 1001, date: "{{ .ScheduledFor.Format \"2006-01-02\" }}", n: 12345678901234567890}
    priority: 2
    tags: [daily]
    missed: run_all
    overlap: queue_one
  sync: {task: sms.push, every: 1d12h, anchor: "2026-01-01 00:30", timezone: Europe/Berlin}
  once: {task: sms.push, at: 2026-12-24T09:30:00Z}
  local: {task: sms.push, at: 2026-12-24 09:30, timezone: Asia/Shanghai}
`

func TestEveryKeyOfTheFileIsRead(t *testing.T) {
	cfg, found := parseConfig("reax.yaml", "/srv", []byte(fullConfig))
	require.Empty(t, found)
	require.Equal(t, "localhost:9090", cfg.Addr)
	require.Equal(t, "/srv/data/ledger.db", cfg.Database)
	require.Equal(t, "normal", cfg.Durability)
	require.Equal(t, 45*time.Second, cfg.ShutdownGrace)
	require.Equal(t, 10*time.Minute, cfg.PromoteBase)
	require.Equal(t, time.Minute, cfg.PromoteStep)
	require.Equal(t, []string{"reax.example", "10.0.0.7"}, cfg.AllowedHosts)
	require.Equal(t, actors.Retention{Success: 7 * day, Failed: 30 * day, Dead: 90 * day, Cancelled: 36 * time.Hour}, cfg.Retention)
	require.Equal(t, "debug", cfg.LogLevel)
	require.Equal(t, "json", cfg.LogFormat)
	require.Len(t, cfg.Tasks, 2)

	report := cfg.Tasks[0]
	require.Equal(t, 16, report.Line)
	require.Equal(t, tasks.Policy{
		Timeout: 2 * time.Minute, MaxRetries: 5, BackoffBase: time.Second, BackoffMax: time.Hour, Priority: 2, Concurrency: 8,
		RetryOnlyMarked: true, OnCrash: tasks.Hold,
	}, report.Policy)
	require.Equal(t, "Makes the daily report", report.Description)
	env, err := resolveTexts("env", report.env, os.Getenv)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"PORT": "8080", "DEBUG": "true"}, env)
	require.Equal(t, &tasks.Command{
		Argv: []string{"python3", "reports/generate.py", "--level", "3"}, Dir: "/srv/scripts",
		PermanentExitCodes: []int{2, 64},
	}, report.Command)
	require.Nil(t, report.HTTP)

	sms := cfg.Tasks[1]
	require.Equal(t, tasks.DefaultPolicy(), sms.Policy)
	require.Equal(t, &tasks.HTTP{URL: "http://127.0.0.1:9000/sms", Hosts: []tasks.HostRules{{}}}, sms.HTTP)
	headers, err := resolveTexts("http.headers", sms.headers, os.Getenv)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"X-Team": "ops"}, headers)
	require.Equal(t, "hush", sms.secret.text)
	require.Nil(t, sms.Command)

	shanghai, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	require.Equal(t, []actors.ScheduleSpec{
		{
			Name: "daily/report", Task: "report.generate", Cron: "0 7 * * *", Timezone: "Asia/Shanghai", Priority: 2, Tags: []string{"daily"},
			Params: json.RawMessage(`{"user_id":1001,"date":"{{ .ScheduledFor.Format \"2006-01-02\" }}","n":12345678901234567890}`),
			Missed: "run_all", Overlap: "queue_one",
		},
		{Name: "sync", Task: "sms.push", Every: 36 * time.Hour, Anchor: time.Date(2026, 1, 1, 0, 30, 0, 0, berlin), Timezone: "Europe/Berlin"},
		{Name: "once", Task: "sms.push", At: time.Date(2026, 12, 24, 9, 30, 0, 0, time.UTC)},
		{Name: "local", Task: "sms.push", At: time.Date(2026, 12, 24, 9, 30, 0, 0, shanghai), Timezone: "Asia/Shanghai"},
	}, cfg.scheduleSpecs())
}

func TestSchemasKeepDigitsAndTheOrderOfKeys(t *testing.T) {
	cfg, found := parseConfig("reax.yaml", "/srv", []byte(fullConfig))
	require.Empty(t, found)
	require.Equal(t, `{"type":"object","required":["user_id"],"properties":{`+
		`"user_id":{"type":"integer","maximum":12345678901234567890123,"title":"User"},`+
		`"date":{"type":"string","format":"date","default":"2026-01-01"}}}`, string(cfg.Tasks[0].Params))
}

func TestSchemaValuesBecomeJSON(t *testing.T) {
	for yaml, want := range map[string]string{
		"a": `"a"`, "'1'": `"1"`, "1": "1", "-1.50": "-1.50", "1e3": "1e3", "true": "true", "FALSE": "false", "~": "null", "": "null",
		"yes": `"yes"`, "2026-01-01": `"2026-01-01"`, "[1, [], {}]": "[1,[],{}]", "{b: 1, a: 2}": `{"b":1,"a":2}`,
		`"<a&b>\n"`: `"\u003ca\u0026b\u003e\n"`, "{1: x}": `{"1":"x"}`,
	} {
		cfg, found := parseConfig("reax.yaml", "/srv", []byte("tasks: {x: {command: [x], params: {v: "+yaml+"}}}"))
		require.Empty(t, found, yaml)
		require.Equal(t, `{"v":`+want+`}`, string(cfg.Tasks[0].Params), yaml)
	}
}

func TestProblemsNameFileLineKeyAndCure(t *testing.T) {
	for _, test := range []struct{ name, yaml, want string }{
		{"unknown key, near", "adr: x", "reax.yaml:1: adr: unknown key (did you mean addr?)"},
		{"unknown key of a task", "tasks:\n  report.generate:\n    command: [x]\n    timout: 1m",
			"reax.yaml:4: tasks.report.generate.timout: unknown key (did you mean timeout?)"},
		{"unknown key, far", "log:\n  colour: red", "reax.yaml:2: log.colour: unknown key (known: dir, format, keep_days, level)"},
		{"twice", "addr: a\n\naddr: b", "reax.yaml:3: addr: given twice, first in line 1"},
		{"task twice", "tasks:\n  a: {command: [x]}\n  a: {command: [y]}", "reax.yaml:3: tasks.a: given twice, first in line 2"},
		{"number as duration", "shutdown_grace: 30", "reax.yaml:1: shutdown_grace: a duration needs a unit: write 30s for seconds or 30m for minutes"},
		{"no duration", "shutdown_grace: soon", `reax.yaml:1: shutdown_grace: "soon" is not a duration: write it with its unit, such as 30s, 2m, 1h30m or 7d`},
		{"negative duration", "promote_base: -1s", `reax.yaml:1: promote_base: "-1s" is negative`},
		{"zero duration", "promote_base: 0s", "reax.yaml:1: promote_base: must be longer than 0"},
		{"long duration", "tasks: {a: {command: [x], timeout: 31d}}", "reax.yaml:1: tasks.a.timeout: 31d is longer than the limit of 30d"},
		{"no value", "database:", "reax.yaml:1: database: has no value"},
		{"list for text", "database: [a]", "reax.yaml:1: database: must be text, not a list"},
		{"word", "durability: none", `reax.yaml:1: durability: must be full or normal, not "none"`},
		{"text for mapping", "tasks: none", `reax.yaml:1: tasks: must be a mapping of keys to values, not "none"`},
		{"root", "- a", "reax.yaml:1: must be a mapping of keys to values, not a list"},
		{"shell line", "tasks:\n  a:\n    command: make report", `reax.yaml:3: tasks.a.command: must be a list, such as [a, b], not "make report"`},
		{"no program", "tasks:\n  a:\n    command: []", "reax.yaml:3: tasks.a.command: names no program"},
		{"neither", "tasks:\n  a:\n    timeout: 1s", "reax.yaml:2: tasks.a: says neither command nor http: one of them is needed"},
		{"both", "tasks:\n  a:\n    command: [x]\n    http: {url: http://x}", "reax.yaml:2: tasks.a: says both command and http: one of them is needed"},
		{"only for a command", "tasks:\n  a:\n    http: {url: http://x}\n    dir: y", "reax.yaml:4: tasks.a.dir: is only for a command"},
		{"no url", "tasks:\n  a:\n    http: {}", "reax.yaml:3: tasks.a.http: needs a url"},
		{"two secrets", "tasks:\n  a:\n    http:\n      url: http://x\n      secret: s\n      secret_env: S",
			"reax.yaml:6: tasks.a.http.secret_env: only one of secret, secret_env and secret_file may be given"},
		{"retries", "tasks: {a: {command: [x], max_retries: 1001}}", "reax.yaml:1: tasks.a.max_retries: 1001 is not from 0 to 1000"},
		{"fraction", "tasks: {a: {command: [x], priority: 1.5}}", `reax.yaml:1: tasks.a.priority: must be a whole number from 1 to 10, not "1.5"`},
		{"octal", "tasks: {a: {command: [x], concurrency: 010}}", `reax.yaml:1: tasks.a.concurrency: must be a whole number from 1 to 10000, not "010"`},
		{"exit code", "tasks:\n  a:\n    command: [x]\n    permanent_exit_codes: [1, 0]", "reax.yaml:4: tasks.a.permanent_exit_codes.1: 0 is not from 1 to 255"},
		{"backoff", "tasks: {a: {command: [x], backoff: {base: 5m}}}", "reax.yaml:1: tasks.a.backoff: max (2m) is shorter than base (5m)"},
		{"number for JSON", "tasks: {a: {command: [x], params: {maximum: 0x10}}}",
			`reax.yaml:1: tasks.a.params.maximum: "0x10" cannot be a number in JSON: write it in plain decimal digits, or in quotes if it is text`},
		{"merge", "retention: &a {success: 1d}\nlog:\n  <<: *a",
			"reax.yaml:3: log.<<: merging with << is not supported: use an alias for a whole value"},
		{"two documents", "addr: a\n---\naddr: b", "reax.yaml:2: a second document begins here: the file may hold only one"},
		{"syntax", "a: b: c", "reax.yaml:1: not valid YAML: mapping values are not allowed in this context"},
		{"zero character", `database: "a\0b"`, "reax.yaml:1: database: holds a zero character"},
		{"tag", "database: !!binary aGk=", "reax.yaml:1: database: the YAML tag !!binary is not supported"},
		{"cycle", "allowed_hosts: &a [*a]", "reax.yaml:1: allowed_hosts.0: must be text, not a list"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, found := parseConfig("reax.yaml", "/srv", []byte(test.yaml))
			require.Equal(t, test.want, found.Error())
		})
	}
}

func TestAllProblemsAreReportedAtOnceInTheOrderOfLines(t *testing.T) {
	_, found := parseConfig("reax.yaml", "/srv", []byte("tasks:\n  b:\n    command: x\n  a:\n    priority: 11\nretention:\n  success: 5\nadr: z\n"))
	require.Equal(t, strings.Join([]string{
		`reax.yaml:3: tasks.b.command: must be a list, such as [a, b], not "x"`,
		`reax.yaml:4: tasks.a: says neither command nor http: one of them is needed`,
		`reax.yaml:5: tasks.a.priority: 11 is not from 1 to 10`,
		`reax.yaml:7: retention.success: a duration needs a unit: write 5s for seconds or 5m for minutes`,
		`reax.yaml:8: adr: unknown key (did you mean addr?)`,
	}, "\n"), found.Error())
}

func TestAHopelessFileIsNotAnsweredWithAFlood(t *testing.T) {
	text := "allowed_hosts:\n" + strings.Repeat("- []\n", 500)
	_, found := parseConfig("reax.yaml", "/srv", []byte(text))
	require.Len(t, found, maxProblems+1)
	require.Equal(t, "reax.yaml:102: there are more problems here and below", found[maxProblems].String())
}

func TestAFileWithoutContentIsGood(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "tasks:\n", "{}"} {
		_, found := parseConfig("reax.yaml", "/srv", []byte(text))
		require.Empty(t, found, text)
	}
}

func TestAliasesCannotMakeAFileGrow(t *testing.T) {
	var b strings.Builder
	b.WriteString("tasks: {a: {command: [x], params: {x: ")
	b.WriteString("[&a [1,1,1,1,1,1,1,1,1,1]")
	for c := 'b'; c <= 'i'; c++ {
		b.WriteString(", &" + string(c) + " [")
		b.WriteString(strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ","))
		b.WriteString("]")
	}
	b.WriteString("]}}}")
	cfg, found := parseConfig("reax.yaml", "/srv", []byte(b.String()))
	require.Contains(t, found.Error(), "the file holds more than 100000 values")
	require.Less(t, len(cfg.Tasks[0].Params), 2<<20)

	_, found = parseConfig("reax.yaml", "/srv", []byte("tasks: {a: {command: [x], params: &p {x: *p}}}"))
	require.Contains(t, found.Error(), "nested more than 100 levels deep")

	_, found = parseConfig("reax.yaml", "/srv", make([]byte, maxConfigBytes+1))
	require.Equal(t, "reax.yaml: the file is larger than 1048576 bytes", found.Error())
}

func TestTheFileIsFoundByFlagOrInTheCurrentFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	cfg, _, err := readConfig("")
	require.NoError(t, err)
	require.Empty(t, cfg.File)

	require.NoError(t, os.WriteFile("reax.yaml", []byte("database: here.db"), 0o600))
	cfg, _, err = readConfig("")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "here.db"), cfg.Database)

	_, _, err = readConfig("other.yaml")
	require.EqualError(t, err, "there is no configuration file other.yaml")
	_, _, err = readConfig(dir)
	require.ErrorContains(t, err, "is not a regular file")

	require.NoError(t, os.Mkdir("conf", 0o700))
	require.NoError(t, os.WriteFile("conf/other.yaml", []byte("database: there.db"), 0o600))
	cfg, _, err = readConfig("conf/other.yaml")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "conf/there.db"), cfg.Database)
}

func FuzzConfigNeverPanics(f *testing.F) {
	f.Add([]byte(fullConfig))
	f.Add([]byte("a: &a [*a]\n<<: x\n? [k]\n: v"))
	f.Add([]byte("tasks: {a: {command: [x], params: &p {x: *p, y: !!binary aGk=, z: .inf}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, found := parseConfig("reax.yaml", "/srv", data)
		for _, p := range found {
			require.NotEmpty(t, p.Text)
		}
		for _, task := range cfg.Tasks {
			if !task.Bad && task.Params != nil {
				require.True(t, json.Valid(task.Params), "%s", task.Params)
			}
		}
		for _, c := range cfg.Schedules {
			if _, err := timetable.Parse(c.plan()); !c.Bad {
				require.NoError(t, err)
			}
		}
	})
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * day, "1d12h": 36 * time.Hour, "0s": 0, "0d": 0, "1.5s": 1500 * time.Millisecond,
	} {
		got, err := parseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "5", "1.5", "-1s", "d", "1d-1h", "999999d", "1x", "1 s", "9223372036s9223372036s"} {
		_, err := parseDuration(text)
		require.Error(t, err, text)
	}
	for d, want := range map[time.Duration]string{
		90 * time.Minute: "1h30m", 2 * time.Minute: "2m", time.Hour: "1h", 7 * day: "7d", 36 * time.Hour: "36h", 0: "0s",
	} {
		require.Equal(t, want, formatDuration(d))
	}
}
