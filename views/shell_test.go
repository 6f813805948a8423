package views

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryKeyOfTheHelpIsItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, k := range keyHelp {
		require.Empty(t, seen[k[0]], "%s is a key twice", k[0])
		seen[k[0]] = k[1]
	}
	for _, item := range rail {
		require.Empty(t, seen[item.key], "%s is the key of %s too", item.key, item.section)
		seen[item.key] = item.section
	}
}
