package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/tasks"
	"reax/web"
)

func TestConfigOfTheStatusPage(t *testing.T) {
	dir := t.TempDir()
	cfg, found := parseConfig("reax.yaml", dir, []byte(`
status:
  access: link
  key_file: status.key
  title: 报表平台
  zone: Asia/Shanghai
  embed: ["https://intranet.example", "http://10.0.0.7:8000/"]
  groups:
    - {name: Reports, types: [report.generate, "report.export.*"], slow: 5m, failing: 95.5%, window: 10m, samples: 3}
    - {name: Everything, types: ["*"]}
`))
	require.Empty(t, found)
	none := func(string) string { return "" }
	_, err := cfg.Status.page(true, none)
	require.ErrorContains(t, err, "status:")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "status.key"), []byte("short\n"), 0o600))
	_, err = cfg.Status.page(true, none)
	require.ErrorContains(t, err, "shorter than 16 bytes")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "status.key"), []byte("0123456789abcdef\n"), 0o600))
	page, err := cfg.Status.page(false, none)
	require.NoError(t, err)
	zone, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	require.Equal(t, web.StatusConfig{
		Access: web.StatusLink, Key: "0123456789abcdef", Title: "报表平台", Zone: zone, Embed: []string{"https://intranet.example", "http://10.0.0.7:8000"},
		Groups: []web.StatusGroup{
			{Name: "Reports", Types: []string{"report.generate", "report.export.*"}, Slow: 5 * time.Minute, Failing: .955, Window: 10 * time.Minute, Samples: 3},
			{Name: "Everything", Types: []string{"*"}},
		},
	}, page)
	days := page.Days()
	require.Equal(t, zone, days.Zone)
	require.Equal(t, 5*time.Minute, days.Slow("report.generate"))

	registry := tasks.NewRegistry()
	require.Contains(t, cfg.Status.check("reax.yaml", registry).Error(), `there is no task type "report.generate"`)

	for text, want := range map[string]string{
		"{access: open}":                                           "must be off, public or link",
		"{access: link}":                                           "needs key_env or key_file",
		"{access: public, key_env: A}":                             "for access: link alone",
		"{access: link, key_env: A, key_file: b}":                  "only one of",
		"{zone: Mars}":                                             "must be a time zone",
		"{embed: ['*']}":                                           "must be an origin",
		"{embed: ['https://a.example/path']}":                      "must be an origin",
		"{embed: [\"https://a.example; script-src *\"]}":           "must be an origin",
		"{embed: ['javascript://a']}":                              "must be an origin",
		"{groups: [{types: [a]}]}":                                 "needs a name",
		"{groups: [{name: a}]}":                                    "needs types",
		"{groups: [{name: a, types: [a]}, {name: a, types: [b]}]}": "two groups of the name",
		"{groups: [{name: a, types: ['a b']}]}":                    "not the name of a task type",
		"{groups: [{name: a, types: [a], failing: 90}]}":           "such as 90%",
		"{groups: [{name: a, types: [a], failing: 0%}]}":           "such as 90%",
		"{groups: [{name: a, types: [a], failing: 9x%}]}":          "such as 90%",
		"{groups: [{name: \"a\\nb\", types: [a]}]}":                "one line of text",
		"{groups: {}}":                                             "must be a list",
	} {
		_, found := parseConfig("reax.yaml", "/srv", []byte("status: "+text))
		require.NotEmpty(t, found, text)
		require.Contains(t, found.Error(), want, text)
	}
}

// What nobody has decided is decided by who can reach the server.
func TestTheStatusPageIsOffElsewhereThanOnThisMachine(t *testing.T) {
	cfg, found := parseConfig("reax.yaml", "/srv", []byte("status: {title: x}"))
	require.Empty(t, found)
	for _, loopback := range []bool{true, false} {
		page, err := cfg.Status.page(loopback, func(string) string { return "" })
		require.NoError(t, err)
		require.Equal(t, loopback, page.Access == web.StatusPublic)
		require.Equal(t, loopback, page.Local)
		require.Equal(t, loopback, page.Days().Zone != nil)
	}
}
