package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func writeConfig(t *testing.T, dir, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, defaultConfigFile), []byte(text), 0o600))
}

func TestSchedulesOfTheFileComeAndGoWithIt(t *testing.T) {
	dir := t.TempDir()
	writeConfig(t, dir, "schedules:\n  team/daily:\n    task: demo.report\n    cron: 0 7 * * *\n    timezone: Asia/Shanghai\n    params: {title: \"{{ .Name }}\"}\n")
	p := startProcess(t, dir)
	require.Contains(t, p.banner, "5 task types (demonstration) · 1 schedule · 0 waiting")
	got := p.client(t, "schedules", "show", "team/daily")
	require.Zero(t, got.code, got.errOut)
	require.Regexp(t, `(?m)^owner +file$`, got.out)
	require.Regexp(t, `(?m)^next +\d{4}-\d\d-\d\d 07:00:00 \+08:00$`, got.out)
	for _, args := range [][]string{{"edit", "team/daily", "--cron", "@daily"}, {"rm", "team/daily"}} {
		got = p.client(t, append([]string{"schedules"}, args...)...)
		require.Equal(t, 1, got.code)
		require.Contains(t, got.errOut, "belongs to the configuration file")
	}
	require.Contains(t, p.client(t, "schedules", "pause", "team/daily", "--reason", "audit").out, "· paused")
	require.Zero(t, p.client(t, "schedules", "run", "team/daily", "--wait").code)

	got = p.client(t, "schedules", "add", "mine", "--task", "demo.report", "--every", "36h", "-p", "rows=2")
	require.Zero(t, got.code, got.errOut)
	got = p.client(t, "schedules", "edit", "mine", "--rename", "ours", "--cron", "0 9 * * 1", "--timezone", "Europe/Berlin")
	require.Zero(t, got.code, got.errOut)
	require.Contains(t, got.out, "ours: ")
	got = p.client(t, "schedules")
	require.Regexp(t, `(?m)^ours +demo\.report +0 9 \* \* 1 Europe/Berlin +on +\S+ 09:00:00 \+0[12]:00$`, got.out)
	require.Regexp(t, `(?m)^team/daily .* paused +- +audit$`, got.out)
	require.Zero(t, p.stop(t, syscall.SIGTERM), p.log.String())

	// A pause outlives the restart; what has left the file is gone, and what the API made stays.
	again := startProcess(t, dir)
	require.Contains(t, again.client(t, "schedules").out, "audit")
	require.Zero(t, again.stop(t, syscall.SIGTERM), again.log.String())
	writeConfig(t, dir, "")
	last := startProcess(t, dir)
	got = last.client(t, "schedules")
	require.NotContains(t, got.out, "team/daily")
	require.Contains(t, got.out, "ours")
	require.Zero(t, last.client(t, "schedules", "rm", "ours").code)
	require.Equal(t, 1, last.client(t, "schedules", "show", "ours").code)
	require.Zero(t, last.stop(t, syscall.SIGTERM), last.log.String())
}

func TestAServerDoesNotStartWithAScheduleThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	writeConfig(t, dir, "schedules:\n  daily:\n    task: demo.report\n    cron: '@daily'\n    params:\n      title: ok\n      rows: many\n  weekly:\n    task: demo.report\n    cron: '@weekly'\n    params: {title: '{{ .Scheduled }}'}\n")
	got := command{}.run(t, "check", "--config", filepath.Join(dir, defaultConfigFile))
	require.Equal(t, 1, got.code)
	require.Contains(t, got.errOut, "reax.yaml:11: schedules.weekly.params.title: ")
	out, err := serveCommand(t, dir).CombinedOutput()
	require.Error(t, err)
	require.NoFileExists(t, filepath.Join(dir, "reax.db"))
	require.Contains(t, string(out), "reax.yaml:7: schedules.daily.params.rows: ")
	require.Contains(t, string(out), "reax.yaml:11: schedules.weekly.params.title: ")
}

func TestAScheduleOfTheSameNameIsRefusedInWords(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, dir)
	require.Zero(t, p.client(t, "schedules", "add", "daily", "--task", "demo.report", "--cron", "@daily").code)
	require.Zero(t, p.stop(t, syscall.SIGTERM), p.log.String())
	writeConfig(t, dir, "schedules:\n  daily: {task: demo.report, cron: '@daily'}\n")
	out, err := serveCommand(t, dir).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "schedule daily stands in the configuration file, and a schedule of that name was made through the API")
}
