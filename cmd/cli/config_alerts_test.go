package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/tasks/notify"
)

const alertsConfigText = `public_url: https://reax.example.com/jobs
alerts:
  language: zh
  receivers:
    chat: {kind: dingtalk, url: {env: ROBOT_URL}, secret: {file: robot.secret}}
    hook: {kind: webhook, url: "https://hooks.example.com/x", template: '{"t": {{json .Title}}}', headers: {X-Key: {env: HOOK_KEY}}}
    desk:
      kind: mail
      server: mail.example.com:587
      user: reax
      password: {env: MAIL_PASSWORD}
      from: reax <reax@example.com>
      to: [ops@example.com, duty@example.com]
  rules:
    broken:  {when: dead, types: [report.*], receivers: [chat, desk], clear_after: 2h}
    failing: {when: success_rate, below: 90%, clear: 95, samples: 50, for: 5m, repeat: 4h}
    waiting: {when: oldest_wait, over: 10m, clear: 2m}
    pile:    {when: backlog, over: 1000}
    missed:  {when: schedule_missed}
    slow:    {when: slow_run, over: 4}
    crashes: {when: restarts, over: 5, within: 15m}
    disk:    {when: disk_low, below: 5GiB, clear: 6GiB}
`

func TestAlertsOfTheFileAreReadWithTheirDefaultsAndSecrets(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "robot.secret"), []byte("SECabc\n"), 0o600))
	cfg, found := parseConfig("reax.yaml", dir, []byte(alertsConfigText))
	require.Empty(t, found)
	require.Equal(t, "https://reax.example.com/jobs", cfg.PublicURL)
	options := cfg.Alerts.options()
	require.Equal(t, []actors.AlertReceiver{{Name: "chat", Kind: "dingtalk"}, {Name: "hook", Kind: "webhook"}, {Name: "desk", Kind: "mail"}}, options.Receivers)
	byName := map[string]models.AlertSpec{}
	for _, r := range options.Rules {
		require.True(t, r.File)
		byName[r.Name] = r.AlertSpec
	}
	require.Equal(t, map[string]models.AlertSpec{
		"broken":  {Kind: "dead", Types: []string{"report.*"}, Receivers: []string{"chat", "desk"}, ClearAfter: 2 * time.Hour},
		"failing": {Kind: "success_rate", Limit: 90, Clear: 95, Samples: 50, For: 5 * time.Minute, ClearAfter: time.Minute, Repeat: 4 * time.Hour},
		"waiting": {Kind: "oldest_wait", Limit: int64(10 * time.Minute), Clear: int64(2 * time.Minute), ClearAfter: time.Minute},
		"pile":    {Kind: "backlog", Limit: 1000, ClearAfter: time.Minute},
		"missed":  {Kind: "schedule_missed", ClearAfter: time.Minute},
		"slow":    {Kind: "slow_run", Limit: 4, Samples: 20, ClearAfter: time.Minute},
		"crashes": {Kind: "restarts", Limit: 5, Window: 15 * time.Minute, ClearAfter: time.Minute},
		"disk":    {Kind: "disk_low", Limit: 5 << 30, Clear: 6 << 30, ClearAfter: time.Minute},
	}, byName)

	env := func(name string) string {
		return map[string]string{"ROBOT_URL": "https://robot.example.com/send?access_token=t", "HOOK_KEY": "k", "MAIL_PASSWORD": "p"}[name]
	}
	registry := tasks.NewRegistry()
	require.Empty(t, cfg.addAlerts(registry, env))
	def, ok := registry.Lookup(tasks.NoticeType)
	require.True(t, ok)
	require.Equal(t, 8, def.Policy.MaxRetries)
	chat, err := cfg.Alerts.Receivers[0].resolve(env)
	require.NoError(t, err)
	require.Equal(t, notify.Receiver{Name: "chat", Kind: "dingtalk", URL: "https://robot.example.com/send?access_token=t", Secret: "SECabc"}, chat)

	found = cfg.addAlerts(tasks.NewRegistry(), func(string) string { return "" })
	require.Equal(t, []string{
		"reax.yaml:5: alerts.receivers.chat: url: the environment variable ROBOT_URL is not set",
		"reax.yaml:6: alerts.receivers.hook: headers.X-Key: the environment variable HOOK_KEY is not set",
		"reax.yaml:7: alerts.receivers.desk: password: the environment variable MAIL_PASSWORD is not set",
	}, strings.Split(found.Error(), "\n"))
}

func TestProblemsOfAlertsNameTheirLines(t *testing.T) {
	rule := func(text string) string { return "alerts:\n  rules:\n    r:\n      " + text }
	receiver := func(text string) string { return "alerts:\n  receivers:\n    ops:\n      " + text }
	for _, test := range []struct{ name, yaml, want string }{
		{"no kind", rule("for: 5m"), "reax.yaml:3: alerts.rules.r: says not what it looks at: when is needed, one of dead, success_rate, oldest_wait, backlog, schedule_missed, slow_run, restarts or disk_low"},
		{"kind", rule("when: mood"), `reax.yaml:4: alerts.rules.r.when: must be dead, success_rate, oldest_wait, backlog, schedule_missed, slow_run, restarts or disk_low, not "mood"`},
		{"unknown key", rule("when: dead\n      fo: 5m"), "reax.yaml:5: alerts.rules.r.fo: unknown key (did you mean for?)"},
		{"wrong side", rule("when: backlog\n      below: 5"), "reax.yaml:5: alerts.rules.r.below: is not for backlog"},
		{"no limit", rule("when: dead\n      over: 5"), "reax.yaml:5: alerts.rules.r.over: is not for dead"},
		{"size", rule("when: disk_low\n      below: 5"), "reax.yaml:5: alerts.rules.r.below: must be a size with its unit, such as 500MiB or 5GiB"},
		{"wait", rule("when: oldest_wait\n      over: 5"), "reax.yaml:5: alerts.rules.r.over: must be a duration with its unit, such as 30s, 10m, 2h or 7d"},
		{"range", rule("when: success_rate\n      below: 101"), "reax.yaml:5: alerts.rules.r.below: must be between 1% and 100%"},
		{"clear", rule("when: backlog\n      over: 100\n      clear: 200"), "reax.yaml:6: alerts.rules.r.clear: must be at most 100"},
		{"clear of a run", rule("when: slow_run\n      clear: 2"), "reax.yaml:5: alerts.rules.r.clear: is not allowed here"},
		{"samples", rule("when: backlog\n      samples: 5"), "reax.yaml:5: alerts.rules.r.samples: is not for backlog"},
		{"within", rule("when: dead\n      within: 5m"), "reax.yaml:5: alerts.rules.r.within: is not for dead"},
		{"short window", rule("when: restarts\n      within: 5s"), "reax.yaml:5: alerts.rules.r.within: must be between 1m and 1d"},
		{"receiver", rule("when: dead\n      receivers: [chat]"), `reax.yaml:5: alerts.rules.r.receivers.0: there is no receiver "chat"`},
		{"type", rule("when: dead\n      types: [a, 'b c']"), `reax.yaml:5: alerts.rules.r.types.1: a name has letters, digits and . _ - / : only, begins with a letter or a digit, and has no ".."`},
		{"name", "alerts: {rules: {a b: {when: dead}}}", `reax.yaml:1: alerts.rules.a b: a name has letters, digits and . _ - / : only, begins with a letter or a digit, and has no ".."`},
		{"reserved", "alerts: {rules: {new: {when: dead}}}", "reax.yaml:1: alerts.rules.new: is reserved: new and preview are addresses of reax"},
		{"language", "alerts: {language: de}", `reax.yaml:1: alerts.language: must be en or zh, not "de"`},
		{"receiver without a kind", receiver("url: https://a.example"), "reax.yaml:3: alerts.receivers.ops: has no kind: one of json, webhook, slack, dingtalk, wecom, feishu or mail"},
		{"receiver without a url", receiver("kind: slack"), "reax.yaml:3: alerts.receivers.ops: needs a url"},
		{"mail with a url", receiver("kind: mail\n      url: https://a.example"), "reax.yaml:5: alerts.receivers.ops.url: is not for mail"},
		{"chat with a server", receiver("kind: wecom\n      url: https://a.example\n      server: a:1"), "reax.yaml:6: alerts.receivers.ops.server: is only for mail"},
		{"dashboard", "public_url: reax.example.com", "reax.yaml:1: public_url: must be the address of the dashboard, such as https://reax.example.com"},
		{"reserved type", "tasks: {reax.alert: {command: [x]}}", "reax.yaml:1: tasks.reax.alert: the name is reserved: reax sends messages about alerts by it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, found := parseConfig("reax.yaml", "/srv", []byte(test.yaml))
			require.Equal(t, test.want, found.Error())
		})
	}
}

func TestAReceiverThatCannotWorkIsFoundByCheckWithoutItsSecret(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("reax.yaml", []byte("alerts:\n  receivers:\n    chat:\n      kind: slack\n      url: 'ftp://hidden'\n    hook: {kind: webhook, url: 'https://a.example', template: '{{.Titel}}'}\n"), 0o600))
	got := command{}.run(t, "check")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.errOut, "reax.yaml:3: alerts.receivers.chat: url: only http:// and https:// are possible\n")
	require.Contains(t, got.errOut, "reax.yaml:6: alerts.receivers.hook: ")
	require.NotContains(t, got.errOut, "hidden")
}
