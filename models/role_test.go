package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARoleMayDoWhatTheOnesBelowItMay(t *testing.T) {
	t.Parallel()
	all := append([]Role{""}, Roles...)
	for i, r := range all {
		require.Equal(t, i > 0, r.IsRole(), r)
		for j, need := range all {
			require.Equal(t, i >= j, r.May(need), "%s may %s", r, need)
		}
	}
	require.False(t, Role("root").IsRole())
	require.False(t, Role("root").May(RoleViewer))
	require.True(t, Role("root").May(""))
}
