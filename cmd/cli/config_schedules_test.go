package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/tasks"
)

func TestProblemsOfSchedulesNameTheirLines(t *testing.T) {
	in := func(lines string) string { return "schedules:\n  daily:\n    task: a\n" + lines }
	for _, test := range []struct{ name, yaml, want string }{
		{"unknown key", in("    cron: '@daily'\n    timzone: UTC"), "reax.yaml:5: schedules.daily.timzone: unknown key (did you mean timezone?)"},
		{"twice", "schedules:\n  a: {task: a, cron: '@daily'}\n  a: {task: a, cron: '@daily'}", "reax.yaml:3: schedules.a: given twice, first in line 2"},
		{"no plan", in("    missed: skip"), "reax.yaml:2: schedules.daily: a schedule needs a cron pattern, an interval above zero (every) or an instant (at)"},
		{"no task", "schedules:\n  daily: {cron: '@daily'}", "reax.yaml:2: schedules.daily: names no task type: task is needed"},
		{"two plans", in("    cron: '@daily'\n    every: 1h"), "reax.yaml:5: schedules.daily.every: a schedule has either a cron pattern or an interval, not both"},
		{"impossible date", in("    cron: 0 0 31 2 *"), `reax.yaml:4: schedules.daily.cron: "0 0 31 2 *" never runs: no month that it names has such a day`},
		{"zone", in("    cron: '@daily'\n    timezone: Asia/Shangai"),
			`reax.yaml:5: schedules.daily.timezone: there is no time zone "Asia/Shangai"; use a name of the IANA database such as Europe/Berlin, Asia/Shanghai or UTC`},
		{"interval without a unit", in("    every: 90"), "reax.yaml:4: schedules.daily.every: a duration needs a unit: write 90s for seconds or 90m for minutes"},
		{"no interval", in("    every: 0s"), "reax.yaml:4: schedules.daily.every: must be longer than 0"},
		{"interval below a second", in("    every: 10ms"), "reax.yaml:4: schedules.daily.every: the interval must be at least 1 second, not 10ms"},
		{"moment", in("    at: tomorrow"), `reax.yaml:4: schedules.daily.at: "tomorrow" is not a time such as 2026-01-31T09:30:00Z or "2026-01-31 09:30"`},
		{"moment in a gap", in("    at: 2027-03-14 02:30\n    timezone: America/New_York"),
			`reax.yaml:4: schedules.daily.at: there is no "2027-03-14 02:30" in the zone America/New_York: its clocks skip that time`},
		{"anchor without an interval", in("    cron: '@daily'\n    anchor: 2026-01-01"), "reax.yaml:5: schedules.daily.anchor: is only for every"},
		{"policy", in("    cron: '@daily'\n    missed: run_twice"), `reax.yaml:5: schedules.daily.missed: must be skip, run_once or run_all, not "run_twice"`},
		{"overlap", in("    cron: '@daily'\n    overlap: queue"), `reax.yaml:5: schedules.daily.overlap: must be skip, allow or queue_one, not "queue"`},
		{"priority", in("    cron: '@daily'\n    priority: 11"), "reax.yaml:5: schedules.daily.priority: 11 is not from 1 to 10"},
		{"name", "schedules:\n  a b: {task: a, cron: '@daily'}",
			`reax.yaml:2: schedules.a b: a name has letters, digits and . _ - / : only, begins with a letter or a digit, and has no ".."`},
		{"name of the preview", "schedules:\n  preview: {task: a, cron: '@daily'}", "reax.yaml:2: schedules.preview: the name is reserved: new and preview are addresses of reax"},
		{"text", "schedules:\n  daily: '@daily'", `reax.yaml:2: schedules.daily: must be a mapping of keys to values, not "@daily"`},
		{"list", "schedules: [a]", "reax.yaml:1: schedules: must be a mapping of keys to values, not a list"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, found := parseConfig("reax.yaml", "/srv", []byte(test.yaml))
			require.Equal(t, test.want, found.Error())
		})
	}
}

func TestAScheduleOfAnUnknownTypeIsFoundByCheck(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("reax.yaml", []byte("tasks:\n  report.generate: {command: [sh]}\nschedules:\n  daily:\n    cron: '@daily'\n    task: report.generat\n"), 0o600))
	got := command{}.run(t, "check")
	require.Equal(t, result{1, "", "reax.yaml:6: schedules.daily.task: there is no task type \"report.generat\" (did you mean report.generate?)\n"}, got)

	require.NoError(t, os.WriteFile("reax.yaml", []byte("schedules:\n  daily: {cron: '0 7 * * *', timezone: Asia/Shanghai, task: demo.report}\n"), 0o600))
	got = command{}.run(t, "check")
	require.Zero(t, got.code, got.errOut)
	require.Contains(t, got.out, "SCHEDULE  TASK         WHEN\ndaily     demo.report  At 07:00 every day, Asia/Shanghai\n")
	require.Contains(t, got.out, "5 task types (demonstration) · 1 schedule")
}

func TestWhatTheRuntimeRefusesIsFoundInTheFile(t *testing.T) {
	cfg, found := parseConfig("reax.yaml", "/srv", []byte("schedules:\n  a/b:\n    task: a\n    cron: '@daily'\n    params:\n      list:\n        - x\n        - '{{'\n      k/~: &alias {deep: '{{'}\n      again: *alias\n"))
	require.Empty(t, found)
	err := cfg.scheduleProblems(errors.Join(errors.New("syncing"), &tasks.InvalidError{Fields: []tasks.FieldError{
		{Location: "/schedules/a/b/params/list/1", Message: "one"}, {Location: "/schedules/a/b/params/k~1~0/deep", Message: "two"},
		{Location: "/schedules/a/b/params/again/deep", Message: "three"}, {Location: "/schedules/a/b/params/list/7", Message: "four"},
		{Location: "/schedules/a/b/params/absent", Message: "five"}, {Location: "/schedules/a/b", Message: "six"},
		{Location: "/schedules/a/b/overlap", Message: "seven"},
	}}))
	require.EqualError(t, err, "reax.yaml:2: schedules.a/b: six\nreax.yaml:2: schedules.a/b: seven\nreax.yaml:5: schedules.a/b.params: five\n"+
		"reax.yaml:6: schedules.a/b.params.list: four\nreax.yaml:8: schedules.a/b.params.list.1: one\n"+
		"reax.yaml:9: schedules.a/b.params.k/~.deep: two\nreax.yaml:9: schedules.a/b.params.again.deep: three")

	other := errors.New("the database is gone")
	require.Equal(t, other, cfg.scheduleProblems(other))
	unknown := &tasks.InvalidError{Fields: []tasks.FieldError{{Location: "/schedules/z/cron", Message: "x"}}}
	require.Equal(t, error(unknown), cfg.scheduleProblems(unknown))
}

func TestMomentsAreReadInTheirZone(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	for text, want := range map[string]string{
		"2026-12-24 09:30":          "2026-12-24T14:30:00Z",
		"2026-12-24T09:30:15":       "2026-12-24T14:30:15Z",
		"2026-12-24":                "2026-12-24T05:00:00Z",
		"2026-12-24T09:30:00Z":      "2026-12-24T09:30:00Z",
		"2026-12-24T09:30:00+08:00": "2026-12-24T01:30:00Z",
		"2027-11-07 01:30":          "2027-11-07T05:30:00Z", // twice: the first time, in summer time
		"2027-11-07 02:00":          "2027-11-07T07:00:00Z",
		"2027-03-14 03:00":          "2027-03-14T07:00:00Z",
	} {
		got, err := parseMomentIn(text, newYork)
		require.NoError(t, err, text)
		require.Equal(t, want, got.UTC().Format(time.RFC3339), text)
	}
	for _, text := range []string{"", "soon", "2027-03-14 02:00", "2027-03-14 02:59", "2026-02-30", "2026-12-24T09:30:00+25:00"} {
		_, err := parseMomentIn(text, newYork)
		require.Error(t, err, text)
	}
}

func TestAFileWithABadScheduleDoesNotStartAServer(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "reax.yaml"), []byte("schedules:\n  daily: {task: demo.report, cron: '0 0 31 2 *'}\n"), 0o600))
	out, err := serveCommand(t, dir).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "reax.yaml:2: schedules.daily.cron: ")
	require.NoFileExists(t, filepath.Join(dir, "reax.db"))
}
