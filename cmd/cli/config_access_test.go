package cli

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/tasks"
)

func TestConfigOfAccess(t *testing.T) {
	cfg, found := parseConfig("reax.yaml", "/srv", []byte(`
base_path: /team/reax/
trusted_proxies: [10.0.0.0/8, "::1", 127.0.0.1]
tls: {cert: tls/cert.pem, key: /etc/key.pem}
outbound: {allow_hosts: ["*.example.com", 10.0.0.0/8], deny_hosts: [admin.example.com]}
retention: {audit: 400d}
`))
	require.Empty(t, found)
	require.Equal(t, accessConfig{
		BasePath: "/team/reax", TLS: tlsFiles{"/srv/tls/cert.pem", "/etc/key.pem"},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("127.0.0.1/32")},
		Outbound:       tasks.HostRules{Allow: []string{"*.example.com", "10.0.0.0/8"}, Deny: []string{"admin.example.com"}},
	}, cfg.Access)
	require.Equal(t, 400*day, cfg.Retention.Audit)
	for text, want := range map[string]string{
		"base_path: reax":                      "must be a path such as /reax",
		"base_path: /a/../b":                   "must be a path",
		"trusted_proxies: [proxy.example.com]": "must be an address or a range",
		"trusted_proxies: 10.0.0.1":            "must be a list",
		"tls: {cert: a.pem}":                   "needs both cert and key",
		"tls:":                                 "needs both cert and key",
		"outbound: {allow_hosts: [http://a]}":  `"http://a" is neither a host name`,
		"outbound: {allow: [a]}":               "unknown key",
		"tasks: {a: {http: {url: http://a, deny_hosts: [a b]}}}":               `"a b" is neither a host name`,
		"tasks: {a: {http: {url: http://a, headers: {X: {env: A, file: b}}}}}": "needs env",
		"tasks: {a: {http: {url: http://a, headers: {X: {}}}}}":                "needs env",
		"tasks: {a: {command: [x], env: {X: {var: A}}}}":                       "unknown key",
		"tasks: {a: {http: {url: http://a, secret: {env: A}, secret_env: B}}}": "only one of",
	} {
		_, found := parseConfig("reax.yaml", "/srv", []byte(text))
		require.NotEmpty(t, found, text)
		require.Contains(t, found.Error(), want, text)
	}
}

func TestSecretsComeFromTheEnvironmentOrFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(path, []byte("from-file\n"), 0o600))
	env := func(name string) string { return map[string]string{"HOOK": "from-env"}[name] }
	read := func(text string) (tasks.HTTP, error) {
		t.Helper()
		cfg, found := parseConfig("reax.yaml", dir, []byte(text))
		require.Empty(t, found)
		task := cfg.Tasks[0]
		headers, err := resolveTexts("http.headers", task.headers, env)
		if err != nil {
			return tasks.HTTP{}, err
		}
		secret, err := task.secret.resolve("http.secret", env)
		return tasks.HTTP{Headers: headers, Secret: secret}, err
	}
	h, err := read(`tasks: {a: {http: {url: "http://a", headers: {X-Plain: ops, X-Env: {env: HOOK}, X-File: {file: token}}, secret: {file: token}}}}`)
	require.NoError(t, err)
	require.Equal(t, tasks.HTTP{Headers: map[string]string{"X-Plain": "ops", "X-Env": "from-env", "X-File": "from-file"}, Secret: "from-file"}, h)
	h, err = read(`tasks: {a: {http: {url: "http://a", secret_env: HOOK}}}`)
	require.NoError(t, err)
	require.Equal(t, "from-env", h.Secret)
	_, err = read(`tasks: {a: {http: {url: "http://a", headers: {Authorization: {env: NONE}}}}}`)
	require.EqualError(t, err, "http.headers.Authorization: the environment variable NONE is not set")
	_, err = read(`tasks: {a: {http: {url: "http://a", secret_file: none}}}`)
	require.ErrorContains(t, err, "http.secret: reading the file of a secret")
	require.NoError(t, os.WriteFile(path, []byte("\n"), 0o600))
	_, err = read(`tasks: {a: {http: {url: "http://a", secret_file: token}}}`)
	require.ErrorContains(t, err, "is empty")
}

func TestCheckNamesASecretThatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "reax.yaml")
	require.NoError(t, os.WriteFile(file, []byte("tasks:\n  a: {http: {url: \"http://127.0.0.1:1\", headers: {X: {env: NONE}}}}\n  b: {command: [x], env: {PASSWORD: {file: none}}}\n"), 0o600))
	var out, errs strings.Builder
	code := Run(t.Context(), []string{"check", "--config", file}, strings.NewReader(""), &out, &errs, func(string) string { return "" }, nil)
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs.String(), "http.headers.X: the environment variable NONE is not set")
	require.Contains(t, errs.String(), "env.PASSWORD: reading the file of a secret")
	require.NoError(t, os.WriteFile(file, []byte("tls: {cert: a.pem, key: b.pem}\n"), 0o600))
	require.Equal(t, exitFailed, Run(t.Context(), []string{"check", "--config", file}, strings.NewReader(""), &out, &errs, func(string) string { return "" }, nil))
	require.Contains(t, errs.String(), "reading the certificate")
}

func TestTheTokenMayComeFromAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte("hush\n"), 0o600))
	run := func(env map[string]string) string {
		var out, errs strings.Builder
		Run(t.Context(), []string{"types"}, strings.NewReader(""), &out, &errs, func(name string) string { return env[name] }, nil)
		return errs.String()
	}
	require.Contains(t, run(map[string]string{"REAX_TOKEN_FILE": path + "x", "REAX_URL": "http://127.0.0.1:1"}), "reading the file of a secret")
	require.Contains(t, run(map[string]string{"REAX_TOKEN_FILE": path, "REAX_TOKEN": "x"}), "both REAX_TOKEN and REAX_TOKEN_FILE are set")
	require.NotContains(t, run(map[string]string{"REAX_TOKEN_FILE": path, "REAX_URL": "http://127.0.0.1:1"}), "hush")
}
