package static

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFileIsFoundUnderItsHashAlone(t *testing.T) {
	path := Path("app.css")
	hash := strings.Split(path, "/")[2]
	text, mediaType, ok := Lookup(hash, "app.css")
	require.True(t, ok)
	require.Equal(t, "text/css; charset=utf-8", mediaType)
	require.Contains(t, string(text), ":root")
	for _, c := range [][2]string{{"000000000000", "app.css"}, {"", "app.css"}, {hash, "../static.go"}, {hash, "static.go"}, {hash, ""}} {
		_, _, ok := Lookup(c[0], c[1])
		require.False(t, ok, c)
	}
	require.Panics(t, func() { Path("missing.css") })
}
