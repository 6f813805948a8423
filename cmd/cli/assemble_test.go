package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/tasks"
)

func testApp(env map[string]string, register func(*tasks.Registry)) *app {
	return &app{env: func(name string) string { return env[name] }, register: register}
}

type noParams struct{}

func registerOne(r *tasks.Registry) {
	tasks.Register(r, "own.task", func(context.Context, noParams) (noParams, error) { return noParams{}, nil })
}

func TestFlagsGoOverTheEnvironmentAndTheEnvironmentOverTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("reax.yaml", []byte("addr: 127.0.0.1:1\nlog: {level: warn}\nshutdown_grace: 5s\ntasks: {a: {command: [sh]}}"), 0o600))
	check := func(env map[string]string, args ...string) string {
		got := command{env: env}.run(t, append([]string{"check"}, args...)...)
		require.Zero(t, got.code, got.errOut)
		return got.out
	}
	require.Contains(t, check(nil), "address 127.0.0.1:1 · database reax.db")
	env := map[string]string{"REAX_ADDR": "127.0.0.1:2", "REAX_DB": "env.db"}
	require.Contains(t, check(env), "address 127.0.0.1:2 · database env.db")
	require.Contains(t, check(env, "--addr", "127.0.0.1:3", "--db", "flag.db"), "address 127.0.0.1:3 · database flag.db")

	require.NoError(t, os.Rename("reax.yaml", "other.yaml"))
	require.Contains(t, check(nil), "the built-in configuration is good: 5 task types (demonstration) · address 127.0.0.1:8080 · database reax.db")
	require.Contains(t, check(map[string]string{"REAX_CONFIG": "other.yaml"}), "other.yaml is good: 1 task type ·")

	asm, err := testApp(nil, nil).assemble(configFlags{Config: "other.yaml", ShutdownGrace: "1m", Durability: "normal"})
	require.NoError(t, err)
	require.Equal(t, time.Minute, asm.Config.ShutdownGrace)
	require.Equal(t, "normal", asm.Config.Durability)
	require.Equal(t, "warn", asm.Config.LogLevel)
	asm, err = testApp(nil, nil).assemble(configFlags{Config: "other.yaml"})
	require.NoError(t, err)
	require.Equal(t, 5*time.Second, asm.Config.ShutdownGrace)
	require.Equal(t, "full", asm.Config.Durability)
}

func TestDemonstrationTypesAreThereOnlyWhenNothingElseIs(t *testing.T) {
	t.Chdir(t.TempDir())
	names := func(a *app) (names []string, isDemo bool) {
		asm, err := a.assemble(configFlags{})
		require.NoError(t, err)
		for _, d := range asm.Registry.All() {
			names = append(names, d.Name)
		}
		return names, asm.Demo
	}
	all, isDemo := names(testApp(nil, nil))
	require.True(t, isDemo)
	require.Contains(t, all, "demo.report")

	all, isDemo = names(testApp(nil, registerOne))
	require.False(t, isDemo)
	require.Equal(t, []string{"own.task"}, all)

	require.NoError(t, os.WriteFile("reax.yaml", []byte("tasks: {from.file: {command: [sh]}}"), 0o600))
	all, isDemo = names(testApp(nil, registerOne))
	require.False(t, isDemo)
	require.Equal(t, []string{"from.file", "own.task"}, all)
}

func TestCheckReportsEveryProblemWithItsLine(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("secret", []byte("\n"), 0o600))
	require.NoError(t, os.WriteFile("reax.yaml", []byte(`addr: 127.0.0.1:0
tasks:
  bad name!:
    command: [sh]
  own.task:
    command: [sh]
  schema:
    command: [sh]
    params: {type: objekt}
  env:
    http: {url: "http://127.0.0.1/", secret_env: NOT_SET}
  file:
    http: {url: "http://127.0.0.1/", secret_file: secret}
  missing:
    http: {url: "http://127.0.0.1/", secret_file: none}
  url:
    http: {url: "ftp://127.0.0.1/"}
  reserved:
    command: [sh]
    env: {REAX_TOKEN: x}
  typo:
    comand: [sh]
`), 0o600))
	got := command{register: registerOne}.run(t, "check")
	require.Equal(t, 1, got.code)
	for _, want := range []string{
		"reax.yaml:3: tasks.bad name!: ",
		"reax.yaml:5: tasks.own.task: it is registered twice\n",
		"reax.yaml:7: tasks.schema: params: ",
		"reax.yaml:10: tasks.env: http.secret: the environment variable NOT_SET is not set\n",
		"reax.yaml:12: tasks.file: http.secret: the file ",
		"reax.yaml:14: tasks.missing: http.secret: reading the file of a secret: ",
		"reax.yaml:16: tasks.url: ",
		"reax.yaml:18: tasks.reserved: command: env: REAX_TOKEN is set by reax\n",
		"reax.yaml:21: tasks.typo: says neither command nor http: one of them is needed\n",
		"reax.yaml:22: tasks.typo.comand: unknown key (did you mean command?)\n",
	} {
		require.Contains(t, got.errOut, want)
	}
	require.Empty(t, got.out)
}

func TestSecretsComeFromTheEnvironmentOrAFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("from a file\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "reax.yaml"), []byte(
		"tasks:\n  a: {http: {url: 'http://127.0.0.1/', secret_env: S}}\n  b: {http: {url: 'http://127.0.0.1/', secret_file: secret}}"), 0o600))
	asm, err := testApp(map[string]string{"S": "from the environment"}, nil).assemble(configFlags{Config: filepath.Join(dir, "reax.yaml")})
	require.NoError(t, err)
	require.Len(t, asm.Registry.All(), 2)
}

func TestCheckWarnsOfWhatIsNotThereYet(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("run.sh", []byte("#!/bin/sh\n"), 0o700))
	require.NoError(t, os.WriteFile("plain.sh", []byte("#!/bin/sh\n"), 0o600))
	require.NoError(t, os.WriteFile("reax.yaml", []byte(`tasks:
  good: {command: [sh]}
  relative: {command: [./run.sh]}
  own.path: {command: [run.sh], env: {PATH: "`+mustGetwd(t)+`"}}
  program: {command: [no-such-program]}
  mode: {command: [./plain.sh]}
  folder: {command: [sh], dir: nowhere}
`), 0o600))
	got := command{}.run(t, "check")
	require.Zero(t, got.code, got.errOut)
	dir := mustGetwd(t)
	require.Contains(t, got.out, "warning: reax.yaml:5: tasks.program: the program no-such-program was not found, or cannot be executed\n"+
		"warning: reax.yaml:6: tasks.mode: the program "+dir+"/plain.sh was not found, or cannot be executed\n"+
		"warning: reax.yaml:7: tasks.folder: the folder "+dir+"/nowhere does not exist\nTYPE")
	require.Contains(t, got.out, "reax.yaml is good: 6 task types · address 127.0.0.1:8080 · database reax.db\n")
}

func mustGetwd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	return dir
}

func TestCheckWarnsOfAnAddressThatOthersReach(t *testing.T) {
	t.Chdir(t.TempDir())
	got := command{}.run(t, "check", "--addr", ":8080")
	require.Zero(t, got.code, got.errOut)
	require.Contains(t, got.out, "warning: other machines can reach :8080: the server starts there once there is an account")
}

func TestWrongRegistrationsAreReported(t *testing.T) {
	t.Chdir(t.TempDir())
	got := command{register: func(r *tasks.Registry) { registerOne(r); registerOne(r) }}.run(t, "check")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.errOut, `task type "own.task": it is registered twice`)
}
