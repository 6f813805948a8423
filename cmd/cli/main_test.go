package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"reax/tasks"
)

// asReax makes the test binary act as the reax command, so that tests can start, signal and kill real processes.
const asReax = "CLI_TEST_ACT_AS_REAX"

func TestMain(m *testing.M) {
	if os.Getenv(asReax) != "" {
		Main(nil)
	}
	goleak.VerifyTestMain(m)
}

// result is what one command did.
type result struct {
	code        int
	out, errOut string
}

// command runs one reax command with an environment of its own.
type command struct {
	env      map[string]string
	stdin    string
	register func(*tasks.Registry)
}

func (c command) run(t *testing.T, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	code := Run(t.Context(), args, strings.NewReader(c.stdin), &out, &errOut, func(name string) string { return c.env[name] }, c.register)
	return result{code, out.String(), errOut.String()}
}

func TestUsageMistakesExitWithTwo(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, `expected one of "serve"`},
		{"unknown command", []string{"servee"}, `did you mean "serve"?`},
		{"unknown flag", []string{"list", "--jsn"}, `did you mean "--json"?`},
		{"missing argument", []string{"show"}, `expected "<id>"`},
		{"not a number", []string{"show", "abc"}, `expected a valid 64 bit int but got "abc"`},
		{"both kinds of parameters", []string{"enqueue", "x", "-p", "a=1", "--params", "{}"}, "can't be used together"},
		{"both kinds of time", []string{"enqueue", "x", "--delay", "1m", "--run-at", "2026-01-01"}, "can't be used together"},
		{"duration without a unit", []string{"enqueue", "x", "--delay", "90"}, "--delay: a duration needs a unit: write 90s for seconds"},
		{"bad time", []string{"enqueue", "x", "--run-at", "soon"}, `--run-at: "soon" is not a time`},
		{"parameters that are no object", []string{"enqueue", "x", "--params", "[1]"}, "--params must be a JSON object"},
		{"bad url", []string{"types", "--url", "ftp://x"}, `"ftp://x" is not the address of a server`},
		{"discard without a reason", []string{"discard", "1"}, "discard needs a --reason"},
		{"bad log level", []string{"serve", "--log-level", "loud"}, `the log level must be debug, info, warn or error, not "loud"`},
		{"bad durability", []string{"serve", "--durability", "fast"}, `the durability must be full or normal, not "fast"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := command{}.run(t, test.args...)
			require.Equal(t, 2, got.code, got.errOut)
			require.Contains(t, got.errOut, test.want)
			require.Empty(t, got.out)
		})
	}
}

func TestHelpNamesCommandsFlagsAndVariables(t *testing.T) {
	got := command{}.run(t, "--help")
	require.Zero(t, got.code)
	require.Contains(t, got.out, "enqueue")
	got = command{}.run(t, "serve", "--help")
	require.Zero(t, got.code)
	require.Contains(t, got.out, "(or REAX_ADDR)")
}

func TestVersionIsPrinted(t *testing.T) {
	got := command{}.run(t, "version")
	require.Equal(t, result{0, "reax " + Version + "\n", ""}, got)
}
