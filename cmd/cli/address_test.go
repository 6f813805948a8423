package cli

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnAddressIsOfThisMachineOrOfAll(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:8080": "127.0.0.1:8080", "localhost:0": "127.0.0.1:0", "[::1]:80": "[::1]:80", "127.9.9.9:1": "127.9.9.9:1",
	} {
		got, loopback, err := listenAddress(t.Context(), addr)
		require.NoError(t, err, addr)
		require.True(t, loopback, addr)
		require.Equal(t, want, got)
	}
	for _, addr := range []string{":8080", "0.0.0.0:8080", "[::]:8080", "10.0.0.1:80", "[::ffff:10.0.0.1]:80"} {
		got, loopback, err := listenAddress(t.Context(), addr)
		require.NoError(t, err, addr)
		require.False(t, loopback, addr)
		require.Equal(t, addr, got)
	}
	for addr, want := range map[string]string{
		"8080": "is not HOST:PORT", "": "is not HOST:PORT", "127.0.0.1:http": "no port from 0 to 65535", "127.0.0.1:70000": "no port from 0 to 65535",
	} {
		_, _, err := listenAddress(t.Context(), addr)
		require.ErrorContains(t, err, want, addr)
	}
	name, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, []string{"tasks.example.com", "10.0.0.1", name}, hostNames([]string{"tasks.example.com"}, "10.0.0.1:80"))
}
