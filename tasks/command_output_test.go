package tasks

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestReadLinesCutsWhatIsTooLong(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, tc := range map[string]struct {
		input string
		want  []string
		left  []int
	}{
		"nothing":             {"", nil, nil},
		"lines":               {"a\nb\r\n\nc\n", []string{"a", "b", "", "c"}, []int{0, 0, 0, 0}},
		"last without end":    {"a\nb", []string{"a", "b"}, []int{0, 0}},
		"at the limit":        {"0123456789\n", []string{"0123456789"}, []int{0}},
		"over the limit":      {"0123456789abc\nd\n", []string{"0123456789", "d"}, []int{3, 0}},
		"over every buffer":   {long + "\nb", []string{"xxxxxxxxxx", "b"}, []int{99_990, 0}},
		"never ends":          {long, []string{"xxxxxxxxxx"}, []int{99_990}},
		"result has its own":  {"::result " + long[:50_000] + "\n", []string{"::result " + long[:50_000]}, []int{0}},
		"bytes of any kind":   {"\x00\xff\n", []string{"\x00\xff"}, []int{0}},
		"only ends":           {"\n\n", []string{"", ""}, []int{0, 0}},
		"carriage is no line": {"10%\r20%\r\n", []string{"10%\r20%"}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			limit := func(start []byte) int {
				if bytes.HasPrefix(start, []byte("::result ")) {
					return maxResultLine
				}
				return 10
			}
			for _, r := range []io.Reader{strings.NewReader(tc.input), iotest.OneByteReader(strings.NewReader(tc.input))} {
				var lines []string
				var left []int
				readLines(r, limit, func(line []byte, omitted int) {
					lines, left = append(lines, string(line)), append(left, omitted)
				})
				require.Equal(t, tc.want, lines)
				require.Equal(t, tc.left, left)
			}
		})
	}
}

func FuzzReadLinesAccountsForEachByte(f *testing.F) {
	f.Add([]byte("a\nb\r\n"))
	f.Add([]byte("::result {}\n"))
	f.Add(bytes.Repeat([]byte("x"), 70_000))
	f.Fuzz(func(t *testing.T, input []byte) {
		var got int
		readLines(bytes.NewReader(input), func([]byte) int { return 8 }, func(line []byte, omitted int) {
			if len(line) > 8 {
				t.Fatalf("%d bytes kept", len(line))
			}
			got += len(line) + omitted
		})
		ends := bytes.Count(input, []byte("\n")) + bytes.Count(input, []byte("\r\n"))
		// A \r\n may be split over two reads of a long line; then its \r counts as text.
		if want := len(input) - ends; got < want || got > want+bytes.Count(input, []byte("\r\n")) {
			t.Fatalf("got %d bytes, want %d", got, want)
		}
	})
}

func TestStdoutDirectives(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for name, tc := range map[string]struct {
		line     string
		progress []string
		logged   []string
		result   string
		err      string
	}{
		"progress":              {line: "::progress 40 half way", progress: []string{"40 half way"}},
		"without note":          {line: "::progress 40", progress: []string{"40 "}},
		"with percent sign":     {line: "::progress  40.9%  x ", progress: []string{"40 x"}},
		"over 100":              {line: "::progress 1e300 x", progress: []string{"100 x"}},
		"below 0":               {line: "::progress -5", progress: []string{"0 "}},
		"not a number":          {line: "::progress NaN", logged: []string{"::progress NaN"}},
		"no value":              {line: "::progress ", logged: []string{"::progress "}},
		"not at the start":      {line: " ::progress 40", logged: []string{" ::progress 40"}},
		"other directive":       {line: "::group x", logged: []string{"::group x"}},
		"result object":         {line: `::result {"a": 1.10}`, result: `{"a": 1.10}`},
		"result scalar":         {line: `::result 5`, result: `5`},
		"result null":           {line: `::result null`, result: `null`},
		"result with bad bytes": {line: "::result \"a\xff\"", result: "\"a\uFFFD\""},
		"result not JSON":       {line: `::result {'a':1}`, err: "the result is not JSON: reading the ::result line"},
		"result empty":          {line: `::result `, err: "the result is not JSON: reading the ::result line"},
		"result two values":     {line: `::result {} {}`, err: "the result is not JSON: reading the ::result line"},
		"result too deep":       {line: `::result ` + deep, err: "the result is not JSON: reading the ::result line"},
		"result too long":       {line: `::result "` + strings.Repeat("x", maxResultLine) + `"`, err: "is longer than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, s := withTranscript(t.Context())
			out := &stdoutLines{run: RunOf(ctx)}
			readLines(strings.NewReader(tc.line+"\n"), out.limit, out.take)
			require.Equal(t, tc.progress, s.progress)
			require.Equal(t, tc.logged, s.of("stdout"))
			result, err := out.value()
			require.Equal(t, tc.result, string(result))
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				require.Less(t, len(err.Error()), 1000)
				require.Equal(t, Verdict{Kind: KindResult}, Judge(err, DefaultPolicy()))
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestStderrKeepsItsEndForTheError(t *testing.T) {
	ctx, s := withTranscript(t.Context())
	errs := &stderrLines{run: RunOf(ctx)}
	for _, line := range strings.Split("0 1 2 3 4 5 6 7 8 9 a b", " ") {
		errs.take([]byte(line), 0)
	}
	require.Equal(t, "2\n3\n4\n5\n6\n7\n8\n9\na\nb", errs.text())
	require.Len(t, s.of("stderr"), 12)

	errs.take([]byte(strings.Repeat("é", 3000)+"\xff the reason"), 9)
	text := errs.text()
	require.LessOrEqual(t, len(text), maxLastBytes+8)
	require.True(t, utf8.ValidString(text))
	require.True(t, strings.HasSuffix(text, "the reason… (9 bytes left out)"), text)
}

// counter is a Sink that counts; a transcript of the floods below would be the memory that they must not take.
type counter struct{ lines, longest int }

func (c *counter) Log(line LogLine) { c.lines, c.longest = c.lines+1, max(c.longest, len(line.Text)) }

func (c *counter) Progress(int, string) {}

func TestCommandOutputOfAnySizeTakesLittleMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		script  string
		lines   int
		longest int
	}{
		"one line of 1 GB":         {`head -c 1000000000 /dev/zero`, 1, MaxLogLineBytes},
		"a result of 100 MB":       {`printf '::result '; head -c 100000000 /dev/zero; echo; echo '::result 1'`, 0, 0},
		"half a million of lines":  {`yes | head -n 500000`, 500_000, 1},
		"thousands of long lines":  {`yes "$(head -c 100000 /dev/zero | tr '\0' x)" | head -n 1000`, 1_000, MaxLogLineBytes},
		"a progress line for ever": {`yes '::progress 10' | head -n 100000`, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &counter{}
			ctx := WithRun(t.Context(), &Run{}, sink)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := script(tc.script).handler()(ctx, json.RawMessage(`{}`))
			require.NoError(t, err)
			runtime.ReadMemStats(&after)
			require.Equal(t, tc.lines, sink.lines)
			require.LessOrEqual(t, sink.longest, tc.longest)
			require.Less(t, after.HeapAlloc, before.HeapAlloc+64<<20)
		})
	}
}
