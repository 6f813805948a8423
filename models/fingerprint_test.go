package models

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestMessagesOfOneCauseAreNormalisedToOneText(t *testing.T) {
	for _, c := range []struct{ want, messages string }{
		{"order <n> not found", "order 17 not found|order 9000 not found|order 3.14 not found|order 1,000,000 not found"},
		{"timeout after <n>ms", "timeout after 30ms|timeout after 5000ms"},
		{"user <uuid> unknown", "user 123e4567-e89b-12d3-a456-426614174000 unknown|user FFFFFFFF-0000-4000-8000-00000000ABCD unknown"},
		{"dial tcp <ip>: connection refused", "dial tcp 10.0.0.1:5432: connection refused|dial tcp 192.168.1.20:80: connection refused|dial tcp [::1]:80: connection refused|dial tcp [fe80::1%eth0]:443: connection refused"},
		{"no route to <ip>", "no route to 2001:db8::1|no route to 2001:0db8:0000:0000:0000:0000:0000:0001|no route to ::1"},
		{"at address <hex>", "at address 0xdeadbeef|at address 0XC000012345|at address deadbeef01"},
		{"commit <hex> is missing", "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 is missing|commit 7c4a8d09ca3762af61e59520943dc26494f8941b is missing"},
		{"open <text>: no such file", `open "a.txt": no such file|open "b \"c\".txt": no such file|open 'x y': no such file`},
		{"main.go:<n> +<hex>", "main.go:12 +0x1f|main.go:345 +0xabc"},
		{"can't connect, won't retry", "can't connect, won't retry|can't  connect,\n won't\tretry "},
		{"用户 <n> 不存在", "用户 17 不存在|用户 42 不存在"},
		{"", "|   |\n"},
	} {
		for message := range strings.SplitSeq(c.messages, "|") {
			require.Equal(t, c.want, NormaliseMessage(message), "of %q", message)
		}
	}
}

func TestFingerprintSeparatesCauses(t *testing.T) {
	one := Fingerprint("report", "timeout", "order 17 failed")
	require.Regexp(t, `^[0-9a-f]{16}$`, one)
	require.Equal(t, one, Fingerprint("report", "timeout", "order 18 failed"))
	for _, other := range []string{
		Fingerprint("mail", "timeout", "order 17 failed"), Fingerprint("report", "panic", "order 17 failed"),
		Fingerprint("report", "timeout", "order 17 refused"), Fingerprint("reporttimeout", "", "order 17 failed"),
	} {
		require.NotEqual(t, one, other)
	}
	// Long output after the message changes nothing.
	long := strings.Repeat("word ", 1000)
	require.Equal(t, Fingerprint("t", "k", long+"a"), Fingerprint("t", "k", long+"b"))
}

func FuzzNormaliseMessage(f *testing.F) {
	for _, message := range []string{"order 17", `"a" 'b' 10.0.0.1 0xff`, "\xff\x00", strings.Repeat("a1:", 3000), "[::::]", "''''\"\"\""} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		got := NormaliseMessage(message)
		require.True(t, utf8.ValidString(got))
		require.NotRegexp(t, `[0-9]`, got)
		require.Equal(t, got, NormaliseMessage(message))
		require.LessOrEqual(t, len(got), 6*normalisedLimit)
		all, _ := cleanHead(message, normalisedLimit)
		for _, p := range placeholders {
			all = p.pattern.ReplaceAllString(all, p.mark)
		}
		require.Equal(t, strings.TrimSpace(all), got, "no pattern is left out that would have found something")
	})
}
