package cli

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const goodPassword = "correct horse 电池"

// accountCommands runs one story of accounts and tokens by run, with a server or without.
func accountCommands(t *testing.T, by string, run func(stdin string, args ...string) result) {
	t.Helper()
	does := func(want string, args ...string) result {
		t.Helper()
		got := run(goodPassword+"\r\n", args...)
		require.Zero(t, got.code, got.errOut)
		require.Contains(t, got.out, want)
		return got
	}
	refuses := func(want string, args ...string) {
		t.Helper()
		got := run(goodPassword+"\n", args...)
		require.Equal(t, 1, got.code, got.out)
		require.Contains(t, got.errOut, want)
		require.NotContains(t, got.errOut+got.out, goodPassword)
	}
	refuses("the first account must have the role admin", "user", "add", "ann", "--role", "viewer", "--password-stdin")
	does("made the account Ann with the role admin", "user", "add", "Ann", "--role", "admin", "--password-stdin")
	refuses("the name is taken", "user", "add", "ANN", "--role", "viewer", "--password-stdin")
	refuses("/name", "user", "add", "a b", "--role", "viewer", "--password-stdin")
	refuses("last account with the role admin", "user", "role", "ann", "viewer")
	refuses("last account with the role admin", "user", "disable", "ann")
	refuses("last account with the role admin", "user", "rm", "ann")
	refuses("there is", "user", "disable", "nobody")
	does("made the account bob", "user", "add", "bob", "--role", "viewer", "--password-stdin")
	does("bob has the role operator", "user", "role", "bob", "operator")
	does("bob has a new password", "user", "passwd", "bob", "--password-stdin")
	does("bob is disabled", "user", "disable", "bob")
	got := does("bob   operator  disabled", "user", "list")
	require.Contains(t, got.out, "Ann   admin     on")
	does("bob can sign in again", "user", "enable", "bob")
	does("deleted the account bob", "user", "rm", "bob")
	require.NotContains(t, does("Ann", "user").out, "bob")

	got = does("reax_", "token", "create", "ci", "--role", "operator", "--type", "a.b", "--type", "c", "--expires", "90d")
	secret := strings.TrimSpace(got.out)
	require.Regexp(t, `^reax_[A-Z2-7]{26}$`, secret)
	refuses("the name is taken", "token", "create", "ci", "--role", "viewer")
	got = does(`"types":["a.b","c"]`, "token", "list", "--json")
	require.NotContains(t, got.out, secret)
	require.Contains(t, got.out, `"created_by":"`+by+`"`)
	does("operator  on", "token", "list")
	does("revoked the token ci", "token", "revoke", "ci")
	does("operator  revoked", "token")
	refuses("there is", "token", "revoke", "ci")
}

func TestAccountsAreKeptWithoutAServerUnderItsLock(t *testing.T) {
	dir := t.TempDir()
	c := command{env: map[string]string{"REAX_DB": filepath.Join(dir, "reax.db")}}
	got := c.run(t, "user", "list")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.errOut, "there is no database")
	accountCommands(t, offlineBy, func(stdin string, args ...string) result {
		c.stdin = stdin
		return c.run(t, args...)
	})
	// The process of the test is no terminal.
	got = c.run(t, "user", "passwd", "ann")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.errOut, "--password-stdin")
	c.stdin = "\n"
	require.Contains(t, c.run(t, "user", "passwd", "ann", "--password-stdin").errOut, "no password on the standard input")
}

func TestAccountsAreKeptByTheServerThatRuns(t *testing.T) {
	p := startProcess(t, t.TempDir())
	env := map[string]string{"REAX_DB": filepath.Join(p.dir, "reax.db")}
	accountCommands(t, "socket", func(stdin string, args ...string) result { return command{env: env, stdin: stdin}.run(t, args...) })

	// From now on the network wants a token, and the socket none.
	status := func(token string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/api/v1/stats", nil)
		require.NoError(t, err)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, 401, status(""))
	made := p.client(t, "token", "create", "ci", "--role", "viewer", "--json")
	var answer token
	require.NoError(t, json.Unmarshal([]byte(made.out), &answer))
	require.Equal(t, 200, status(answer.Secret))
	require.Equal(t, 401, status(answer.Secret+"x"))
	byNetwork := command{env: map[string]string{"REAX_URL": p.url, "REAX_TOKEN": answer.Secret}}
	require.Zero(t, byNetwork.run(t, "list").code)
	got := byNetwork.run(t, "user", "list")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.errOut, "this needs the role admin; token:ci has the role viewer")
	require.Contains(t, byNetwork.run(t, "enqueue", "demo.report").errOut, "this needs the role operator")
	got = command{env: map[string]string{"REAX_URL": p.url}}.run(t, "list")
	require.Contains(t, got.errOut, "sign in first, or send a token")
	require.Zero(t, p.client(t, "list").code)
	http.DefaultClient.CloseIdleConnections()
	require.Zero(t, p.stop(t, syscall.SIGTERM))
	require.NotContains(t, p.log.String(), answer.Secret)

	// Other machines may reach it, now that there is an account.
	open := startProcess(t, p.dir, "--addr", "0.0.0.0:0")
	require.Zero(t, open.client(t, "status").code)
	require.Zero(t, open.stop(t, syscall.SIGTERM))
}

func TestNoOtherMachineReachesAServerWithoutAccounts(t *testing.T) {
	out, err := serveCommand(t, t.TempDir(), "--addr", "0.0.0.0:0").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "reax does not listen on 0.0.0.0:0 as long as there are no accounts")
	require.Contains(t, string(out), "reax user add NAME --role admin --db reax.db")
}
