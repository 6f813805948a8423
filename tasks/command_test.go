package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// script is a Command that runs text; the shell is the program under test, reax itself starts none.
func script(text string, args ...string) Command {
	return Command{Argv: append([]string{"/bin/sh", "-c", text, "script"}, args...)}
}

func runCommand(t testing.TB, c Command, params string) (json.RawMessage, *transcript, error) {
	t.Helper()
	require.NoError(t, c.Validate())
	ctx, s := withTranscript(t.Context())
	result, err := c.handler()(ctx, json.RawMessage(params))
	return result, s, err
}

func TestCommandExitDecidesTheOutcome(t *testing.T) {
	marked := Policy{RetryOnlyMarked: true}
	for name, tc := range map[string]struct {
		script    string
		permanent []int
		text      string
		plain     bool // retried by a policy that retries unmarked errors
		marked    bool // retried by one that retries only marked errors
		kind      string
	}{
		"zero is success":               {script: "exit 0"},
		"any other code":                {script: "exit 1", text: "exit status 1", plain: true, kind: KindError},
		"with the end of stderr":        {script: "echo out; echo one >&2; echo two >&2; exit 9", text: "exit status 9: one\ntwo", plain: true, kind: KindError},
		"EX_TEMPFAIL":                   {script: "exit 75", text: "exit status 75", plain: true, marked: true, kind: KindError},
		"a permanent code":              {script: "echo no such user >&2; exit 3", permanent: []int{2, 3}, text: "exit status 3: no such user", kind: KindPermanent},
		"permanent wins over TEMPFAIL":  {script: "exit 75", permanent: []int{75}, text: "exit status 75", kind: KindPermanent},
		"a code beside the permanent":   {script: "exit 4", permanent: []int{2, 3}, text: "exit status 4", plain: true, kind: KindError},
		"killed by itself":              {script: "kill -KILL $$", text: "killed by signal SIGKILL", plain: true, marked: true, kind: KindError},
		"a crash with words":            {script: "echo bad >&2; kill -SEGV $$", text: "killed by signal SIGSEGV: bad", plain: true, marked: true, kind: KindError},
		"blank lines are not an error":  {script: "echo; echo >&2; exit 1", text: "exit status 1", plain: true, kind: KindError},
		"a result does not hide a fail": {script: "echo '::result {}'; exit 1", text: "exit status 1", plain: true, kind: KindError},
	} {
		t.Run(name, func(t *testing.T) {
			c := script(tc.script)
			c.PermanentExitCodes = tc.permanent
			result, _, err := runCommand(t, c, "{}")
			require.Nil(t, result)
			if tc.text == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.text)
			require.Equal(t, tc.plain, Judge(err, DefaultPolicy()).Retryable)
			require.Equal(t, tc.marked, Judge(err, marked).Retryable)
			require.Equal(t, tc.kind, Judge(err, DefaultPolicy()).Kind)
		})
	}
}

func TestCommandGetsItsParametersByteForByte(t *testing.T) {
	for name, params := range map[string]string{
		"spaces and big numbers": ` { "b" : 12345678901234567890.10, "a":"é\u00e9" } `,
		"empty object":           `{}`,
		"larger than a pipe":     `{"text":"` + strings.Repeat("x", 900_000) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "stdin")
			_, _, err := runCommand(t, script(`cat > "$1"`, file), params)
			require.NoError(t, err)
			got, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, params, string(got))
		})
	}
}

func TestCommandMayIgnoreItsInput(t *testing.T) {
	params := `{"text":"` + strings.Repeat("x", 900_000) + `"}`
	for name, text := range map[string]string{
		"never read": `exit 0`,
		"closed":     `exec <&-; echo closed`,
		"read once":  `head -c 1 >/dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := runCommand(t, script(text), params)
			require.NoError(t, err)
		})
	}
}

func TestCommandOutputBecomesTheTasksLog(t *testing.T) {
	result, s, err := runCommand(t, script(`
		echo one; echo two >&2; printf 'crlf\r\n'; printf 'caf\351\n'
		echo '::progress 40 half way'; echo '::progress soon'
		echo '::result {"n":1}'; echo '::progress 50' >&2
		printf '::result {"n":12345678901234567890}'`), "{}")
	require.NoError(t, err)
	require.JSONEq(t, `{"n":12345678901234567890}`, string(result))
	require.Equal(t, []string{"one", "crlf", "caf\xe9", "::progress soon"}, s.of("stdout"))
	require.Equal(t, []string{"two", "::progress 50"}, s.of("stderr"))
	require.Equal(t, []string{"40 half way"}, s.progress)
}

func TestCommandOutputArrivesWhileItRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "go")
	ctx, s := withTranscript(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := script(`echo ready; while [ ! -e "$1" ]; do sleep 0.01; done`, file).handler()(ctx, nil)
		done <- err
	}()
	s.await(t, "ready")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, <-done)
}

func TestCommandResultMustBeJSON(t *testing.T) {
	_, _, err := runCommand(t, script(`echo '::result {"n":'`), "{}")
	require.ErrorContains(t, err, "the result is not JSON")
	require.Equal(t, KindResult, Judge(err, DefaultPolicy()).Kind)

	result, _, err := runCommand(t, script(`echo '::result nonsense'; echo '::result [1]'`), "{}")
	require.NoError(t, err)
	require.Equal(t, `[1]`, string(result))
}

func TestCommandThatCanNotStartSaysWhy(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
		return filepath.Join(dir, name)
	}
	for name, tc := range map[string]struct {
		command Command
		text    string
	}{
		"not in PATH":      {Command{Argv: []string{"no-such-program-of-reax"}}, `the program "no-such-program-of-reax" was not found in PATH`},
		"no such file":     {Command{Argv: []string{dir + "/missing"}}, "the program " + dir + "/missing was not found"},
		"no such folder":   {Command{Argv: []string{"true"}, Dir: dir + "/missing"}, "the command's folder " + dir + "/missing does not exist"},
		"not executable":   {Command{Argv: []string{write("plain", "#!/bin/sh\n", 0o600)}}, "the program " + dir + "/plain is not executable"},
		"a folder":         {Command{Argv: []string{dir}}, "the program " + dir + " is not executable"},
		"no interpreter":   {Command{Argv: []string{"./lost"}, Dir: filepath.Dir(write("lost", "#!/no/such/interpreter\n", 0o700))}, "the interpreter that the first line of " + dir + "/lost names was not found"},
		"not a program":    {Command{Argv: []string{write("text", "echo no shell\n", 0o700)}}, dir + "/text is not a program: it has no #! line and is no binary of this machine"},
		"shell characters": {Command{Argv: []string{"echo hello; true"}}, `the program "echo hello; true" was not found in PATH`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := runCommand(t, tc.command, "{}")
			require.EqualError(t, err, tc.text)
			require.Equal(t, KindPermanent, Judge(err, DefaultPolicy()).Kind)
		})
	}
}

func TestCommandArgumentsAreNotReadByAShell(t *testing.T) {
	_, s, err := runCommand(t, Command{Argv: []string{"echo", "$HOME", "`id`", "a  b", "*", "; exit 1"}}, "{}")
	require.NoError(t, err)
	require.Equal(t, []string{"$HOME `id` a  b * ; exit 1"}, s.of("stdout"))
}

func TestCommandStartsInItsFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "where"), []byte("#!/bin/sh\npwd\n"), 0o700))
	for name, c := range map[string]Command{
		"relative program": {Argv: []string{"bin/where"}, Dir: dir},
		"PATH of its own":  {Argv: []string{"where"}, Dir: dir, Env: map[string]string{"PATH": "bin:" + dir + "/bin:" + os.Getenv("PATH")}},
	} {
		t.Run(name, func(t *testing.T) {
			_, s, err := runCommand(t, c, "{}")
			require.NoError(t, err)
			require.Equal(t, []string{dir}, s.of("stdout"))
		})
	}
}

func TestCommandIsNotLookedUpBesideTheServer(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("surprise", []byte("#!/bin/sh\n"), 0o700))
	for _, path := range []string{".", "", ":/nowhere:"} {
		_, _, err := runCommand(t, Command{Argv: []string{"surprise"}, Env: map[string]string{"PATH": path}}, "{}")
		require.ErrorContains(t, err, "was not found in PATH")
	}
}

func TestCommandIsNotStartedWhenTheRunIsOver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ran")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrShutdown)
	_, err := script(`echo > "$1"`, file).handler()(ctx, nil)
	require.ErrorIs(t, err, ErrShutdown)
	require.NoFileExists(t, file)
}

func TestCommandWaitsForASlotOnlyAsLongAsItsRunLasts(t *testing.T) {
	for range maxCommands {
		commandSlots <- struct{}{}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := script(`true`).handler()(ctx, nil)
		done <- err
	}()
	cancel(ErrTimeout)
	require.ErrorIs(t, <-done, ErrTimeout)
	for range maxCommands {
		<-commandSlots
	}
}

func TestCommandIsValidatedAtStart(t *testing.T) {
	ok := Command{Argv: []string{"true"}}
	require.NoError(t, ok.Validate())
	for want, change := range map[string]func(c *Command){
		"the program's name is missing":        func(c *Command) { c.Argv = nil },
		"command: the program's name":          func(c *Command) { c.Argv = []string{"", "x"} },
		"an argument holds a NUL":              func(c *Command) { c.Argv = []string{"true", "a\x00b"} },
		"the arguments are longer than 131072": func(c *Command) { c.Argv = []string{"true", strings.Repeat("x", 200_000)} },
		"dir holds a NUL":                      func(c *Command) { c.Dir = "\x00" },
		"grace must be between 0 and 10m":      func(c *Command) { c.Grace = -time.Second },
		"grace must be between":                func(c *Command) { c.Grace = time.Hour },
		"permanent_exit_codes: 0 is not":       func(c *Command) { c.PermanentExitCodes = []int{1, 0} },
		"permanent_exit_codes: 256 is not":     func(c *Command) { c.PermanentExitCodes = []int{256} },
		`"A=B" is not a variable's name`:       func(c *Command) { c.Env = map[string]string{"A=B": "1"} },
		`"" is not a variable's name`:          func(c *Command) { c.Env = map[string]string{"": "1"} },
		"REAX_TASK_ID is set by reax":          func(c *Command) { c.Env = map[string]string{"REAX_TASK_ID": "1"} },
		"TRACEPARENT is set by reax":           func(c *Command) { c.Env = map[string]string{"TRACEPARENT": "1"} },
		"the value of A holds a NUL":           func(c *Command) { c.Env = map[string]string{"A": "\x00"} },
		"the value of A is longer than 131072": func(c *Command) { c.Env = map[string]string{"A": strings.Repeat("x", 200_000)} },
	} {
		c := ok
		change(&c)
		require.ErrorContains(t, c.Validate(), want)
	}
}

func TestExternalTypesAreRegisteredWithTheirSchema(t *testing.T) {
	r := NewRegistry()
	schema := json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)
	require.NoError(t, AddCommand(r, External{Name: "a", Description: "A", Params: schema, Policy: DefaultPolicy()}, script("true")))
	require.NoError(t, AddHTTP(r, External{Name: "b", Policy: DefaultPolicy()}, HTTP{URL: "http://127.0.0.1:1/"}))
	require.NoError(t, r.Err())
	a, _ := r.Lookup("a")
	require.Equal(t, []string{KindCommand, "A"}, []string{a.Kind, a.Description})
	require.NoError(t, a.Schema.Check(json.RawMessage(`{"n":1}`)))
	require.Error(t, a.Schema.Check(json.RawMessage(`{}`)))
	b, _ := r.Lookup("b")
	require.Equal(t, KindHTTP, b.Kind)
	require.NoError(t, b.Schema.Check(json.RawMessage(`{"whatever":true}`)))

	for name, err := range map[string]error{
		"c": AddCommand(r, External{Name: "c", Policy: DefaultPolicy()}, Command{}),
		"d": AddHTTP(r, External{Name: "d", Policy: DefaultPolicy()}, HTTP{URL: "ftp://x"}),
		"e": AddCommand(r, External{Name: "e", Params: json.RawMessage(`{"type":7}`), Policy: DefaultPolicy()}, script("true")),
		"a": AddCommand(r, External{Name: "a", Policy: DefaultPolicy()}, script("true")),
	} {
		require.ErrorContains(t, err, fmt.Sprintf("task type %q", name))
		require.ErrorContains(t, r.Err(), err.Error())
	}
}
