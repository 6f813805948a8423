package tasks

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestCommandEnvironmentNamesTheRun(t *testing.T) {
	t.Setenv("REAX_TOKEN", "secret")
	t.Setenv("REAX_PARAM_OLD", "secret")
	t.Setenv("TRACEPARENT", "stale")
	t.Setenv("INHERITED", "yes")
	c := script("env")
	c.Env = map[string]string{"EXTRA": "a=b", "INHERITED_TOO": "1"}
	_, s, err := runCommand(t, c, `{"user id":7,"name":"Zoë"}`)
	require.NoError(t, err)
	env := s.of("stdout")
	for _, want := range []string{
		"REAX_TASK_ID=7", "REAX_TRACE_ID=" + testTrace, "REAX_ATTEMPT=2", "REAX_TYPE=report.generate",
		"REAX_PARAM_USER_ID=7", "REAX_PARAM_NAME=Zoë", "EXTRA=a=b", "INHERITED=yes", "INHERITED_TOO=1",
	} {
		require.Contains(t, env, want)
	}
	all := strings.Join(env, "\n")
	require.NotContains(t, all, "secret")
	require.NotContains(t, all, "stale")
	require.Regexp(t, `(?m)^TRACEPARENT=00-`+testTrace+`-[0-9a-f]{16}-01$`, all)
}

func TestCommandParameterVariables(t *testing.T) {
	big := strings.Repeat("x", 128<<10)
	for name, tc := range map[string]struct {
		params string
		want   []string
	}{
		"scalars as text": {
			`{"text":"a b","int":12345678901234567890,"float":1.10,"yes":true,"none":null,"empty":""}`,
			[]string{"REAX_PARAM_EMPTY=", "REAX_PARAM_FLOAT=1.10", "REAX_PARAM_INT=12345678901234567890", "REAX_PARAM_NONE=", "REAX_PARAM_TEXT=a b", "REAX_PARAM_YES=true"},
		},
		"others as JSON":      {`{"list":[1,  2],"map":{ "a" : "b" }}`, []string{"REAX_PARAM_LIST=[1,2]", `REAX_PARAM_MAP={"a":"b"}`}},
		"names are made safe": {`{"user.id-2":1,"LD_PRELOAD":2,"x=y\nz":3}`, []string{"REAX_PARAM_LD_PRELOAD=2", "REAX_PARAM_USER_ID_2=1", "REAX_PARAM_X_Y_Z=3"}},
		"no usable name":      {`{"":1,"--":2,"名前":3}`, nil},
		"first of one name":   {`{"a_b":"second","a-b":"first"}`, []string{"REAX_PARAM_A_B=first"}},
		"NUL is left out":     {`{"a":"x\u0000y","b":1}`, []string{"REAX_PARAM_B=1"}},
		"long is left out":    {`{"a":"` + big + `","b":1}`, []string{"REAX_PARAM_B=1"}},
		"multi-line text":     {`{"a":"x\ny"}`, []string{"REAX_PARAM_A=x\ny"}},
		"not an object":       {`[1,2]`, nil},
		"nothing":             {``, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.ElementsMatch(t, tc.want, paramsEnv(json.RawMessage(tc.params), maxParamsEnv))
		})
	}
}

func TestCommandStartsWhateverTheSizeOfItsParameters(t *testing.T) {
	var fields []string
	for i := range 3000 {
		fields = append(fields, fmt.Sprintf(`"p%d":"%s"`, i, strings.Repeat("x", i%2000)))
	}
	for i := range 40 {
		fields = append(fields, fmt.Sprintf(`"long%d":"%s"`, i, strings.Repeat("y", 120_000)))
	}
	params := "{" + strings.Join(fields, ",") + "}"
	require.Less(t, stringsSize(paramsEnv(json.RawMessage(params), 1<<30)), maxParamsEnv+1)

	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_STACK, &old))
	t.Cleanup(func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_STACK, &old)) })
	for _, stack := range []uint64{old.Cur, 1 << 20, 512 << 10} {
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_STACK, &unix.Rlimit{Cur: min(stack, old.Max), Max: old.Max}))
		_, s, err := runCommand(t, script(`cat >/dev/null; echo started`), params)
		require.NoError(t, err)
		require.Equal(t, []string{"started"}, s.of("stdout"))
	}
}

func TestCommandParameterVariablesStayWithinTheirRoom(t *testing.T) {
	variable := regexp.MustCompile(`(?s)^REAX_PARAM_[A-Z0-9_]+=[^\x00]*$`)
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "fields")
		room := rapid.IntRange(-10, 500).Draw(t, "room")
		params, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		env := paramsEnv(params, room)
		seen := map[string]bool{}
		for _, kv := range env {
			name, _, _ := strings.Cut(kv, "=")
			if !variable.MatchString(kv) || seen[name] {
				t.Fatalf("bad or doubled variable %q", kv)
			}
			seen[name] = true
		}
		if size := stringsSize(env); size > max(room, 0) {
			t.Fatalf("%d bytes in a room of %d", size, room)
		}
	})
}

func TestTraceparentOnlyForATraceID(t *testing.T) {
	require.Regexp(t, `^00-`+testTrace+`-[0-9a-f]{16}-01$`, traceparent(testTrace))
	require.NotEqual(t, traceparent(testTrace), traceparent(testTrace), "each is a span of its own")
	for _, bad := range []string{"", "xyz", testTrace[1:], testTrace + "00", strings.Repeat("0", 32)} {
		require.Empty(t, traceparent(bad))
	}
}
