package notify

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"reax/tasks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sample is an alert about tasks whose type and error try to be more than text.
var sample = tasks.Notice{
	Receiver: "ops", Event: tasks.NoticeBegin, Alert: 7, Rule: "broken", Kind: "dead", Since: "2026-05-01T08:00:00Z", Until: "2026-05-01T09:00:00Z",
	Facts: tasks.NoticeFacts{
		Name: "report.generate", Fingerprint: "0123456789abcdef", Task: 42, Count: 3,
		Error: "<!channel> @all <@U1> **now** [click](http://evil.example) ![x](http://evil.example/i.png)\r\nBcc: all@example.com\n# big `code`",
	},
}

// inbox is a receiver on this machine.
type inbox struct {
	*httptest.Server
	body   map[string]any
	header http.Header
	query  map[string][]string
	answer string
	status int
}

func newInbox(t *testing.T, answer string) *inbox {
	t.Helper()
	in := &inbox{answer: answer, status: http.StatusOK}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		in.body, in.header, in.query = nil, r.Header, r.URL.Query()
		if json.Unmarshal(body, &in.body) != nil {
			in.body = map[string]any{"raw": string(body)}
		}
		w.WriteHeader(in.status)
		_, _ = io.WriteString(w, in.answer)
	}))
	t.Cleanup(func() { tasks.CloseIdleConnections(); in.Close() })
	return in
}

// send gives a notice to the handler, as a run of its task would.
func send(t *testing.T, c Config, n tasks.Notice) (json.RawMessage, error) {
	t.Helper()
	r := tasks.NewRegistry()
	require.NoError(t, Register(r, c))
	def, ok := r.Lookup(tasks.NoticeType)
	require.True(t, ok)
	require.True(t, def.Internal)
	params, err := json.Marshal(n)
	require.NoError(t, err)
	require.NoError(t, def.Schema.Check(params))
	ctx := tasks.WithRun(t.Context(), &tasks.Run{TaskID: 9, Type: tasks.NoticeType, TraceID: "0123456789abcdef0123456789abcdef", Attempt: 1}, nil)
	return def.Handler(ctx, params)
}

func configOf(r Receiver) Config {
	r.Name = "ops"
	return Config{Receivers: []Receiver{r}, PublicURL: "https://reax.example.com/jobs/", Zone: time.UTC}
}

func TestEachChatGetsItsOwnShapeAndHostileTextStaysText(t *testing.T) {
	const links = "https://reax.example.com/jobs"
	t.Run("slack", func(t *testing.T) {
		in := newInbox(t, "ok")
		_, err := send(t, configOf(Receiver{Kind: KindSlack, URL: in.URL + "/hook"}), sample)
		require.NoError(t, err)
		require.Len(t, in.body, 1)
		text := in.body["text"].(string)
		require.Equal(t, "*[reax] Alert: tasks of report.generate failed for good*\nRule: broken\nSince: 2026-05-01 08:00:00 UTC\nFigures: 3 tasks ended failed or dead\n"+
			"Error: &lt;!channel&gt; @\u200ball &lt;@\u200bU1&gt; ∗∗now∗∗ [click](http://evil.example) ![x](http://evil.example/i.png) Bcc: all@\u200bexample.com # big ˋcodeˋ\n"+
			"Example: <"+links+"/tasks/42|task 42>\nDashboard: <"+links+"/dead/report.generate/0123456789abcdef|"+links+"/dead/report.generate/0123456789abcdef>\n"+
			"To mute it: <"+links+"/alerts/broken|"+links+"/alerts/broken>", text)
	})
	t.Run("dingtalk", func(t *testing.T) {
		in := newInbox(t, `{"errcode":0,"errmsg":"ok"}`)
		c := configOf(Receiver{Kind: KindDingTalk, URL: in.URL + "/robot/send?access_token=tok", Secret: "SECabc"})
		c.Language = Chinese
		_, err := send(t, c, sample)
		require.NoError(t, err)
		require.Equal(t, "markdown", in.body["msgtype"])
		markdown := in.body["markdown"].(map[string]any)
		require.Equal(t, "[reax] 告警：report.generate 有任务最终失败", markdown["title"])
		text := markdown["text"].(string)
		require.Contains(t, text, "**[reax] 告警：report.generate 有任务最终失败**\n\n规则：broken\n\n开始时间：2026-05-01 08:00:00 UTC\n\n当前情况：3 个任务以失败或死信告终\n\n错误：&lt;!channel&gt;")
		require.Contains(t, text, "[click]\u200b(http://evil.example) !\u200b[x]\u200b(http")
		require.NotContains(t, text, "@all")
		require.Equal(t, []string{"tok"}, in.query["access_token"])
		at := in.query["timestamp"][0]
		require.Len(t, at, 13, "milliseconds")
		require.Equal(t, []string{hmacOf("SECabc", at+"\nSECabc")}, in.query["sign"])
	})
	t.Run("wecom", func(t *testing.T) {
		in := newInbox(t, `{"errcode":0}`)
		end := sample
		end.Event = tasks.NoticeEnd
		_, err := send(t, configOf(Receiver{Kind: KindWeCom, URL: in.URL + "/cgi-bin/webhook/send?key=k"}), end)
		require.NoError(t, err)
		require.Equal(t, "markdown", in.body["msgtype"])
		text := in.body["markdown"].(map[string]any)["content"].(string)
		require.Contains(t, text, "**[reax] Over: tasks of report.generate failed for good**\nRule: broken\nSince: 2026-05-01 08:00:00 UTC\nUntil: 2026-05-01 09:00:00 UTC\nWhen last told: 3 tasks")
		require.NotContains(t, text, "<@U1>")
		require.NotContains(t, text, "mute", "it is over")
	})
	t.Run("feishu", func(t *testing.T) {
		in := newInbox(t, `{"code":0,"msg":"success"}`)
		c := configOf(Receiver{Kind: KindFeishu, URL: in.URL + "/hook", Secret: "sec"})
		c.Language = Chinese
		_, err := send(t, c, sample)
		require.NoError(t, err)
		require.Equal(t, "post", in.body["msg_type"])
		at := in.body["timestamp"].(string)
		require.Len(t, at, 10, "seconds")
		require.Equal(t, hmacOf(at+"\nsec", ""), in.body["sign"])
		post := in.body["content"].(map[string]any)["post"].(map[string]any)["zh_cn"].(map[string]any)
		require.Equal(t, "[reax] 告警：report.generate 有任务最终失败", post["title"])
		lines := post["content"].([]any)
		require.Equal(t, []any{map[string]any{"tag": "text", "text": "规则："}, map[string]any{"tag": "text", "text": "broken"}}, lines[0])
		require.Equal(t, []any{map[string]any{"tag": "text", "text": "示例："}, map[string]any{"tag": "a", "text": "任务 42", "href": links + "/tasks/42"}}, lines[4])
	})
	t.Run("json", func(t *testing.T) {
		in := newInbox(t, "")
		_, err := send(t, configOf(Receiver{Kind: KindJSON, URL: in.URL, Secret: "sec", Headers: map[string]string{"Authorization": "Bearer hidden-token"}}), sample)
		require.NoError(t, err)
		require.Equal(t, "application/json", in.header.Get("Content-Type"))
		require.Equal(t, "Bearer hidden-token", in.header.Get("Authorization"))
		require.Contains(t, in.header.Get("X-Reax-Signature"), "v1=")
		require.NotEmpty(t, in.header.Get("Idempotency-Key"))
		for name, want := range map[string]any{
			"event": "begin", "alert": 7.0, "rule": "broken", "kind": "dead", "language": "en", "since": sample.Since,
			"title": "[reax] Alert: tasks of report.generate failed for good", "url": links + "/dead/report.generate/0123456789abcdef", "mute_url": links + "/alerts/broken",
		} {
			require.Equal(t, want, in.body[name], name)
		}
		facts := in.body["facts"].(map[string]any)
		require.Equal(t, 42.0, facts["task"])
		require.NotContains(t, facts["error"], "\n")
		require.Contains(t, in.body["text"], "\nError: <!channel>")
	})
	t.Run("webhook", func(t *testing.T) {
		in := newInbox(t, "")
		_, err := send(t, configOf(Receiver{Kind: KindWebhook, URL: in.URL, Template: `{"summary": {{json .Title}}, "n": {{.Facts.Count}}, "over": {{eq .Event "end"}}}`}), sample)
		require.NoError(t, err)
		require.Equal(t, map[string]any{"summary": "[reax] Alert: tasks of report.generate failed for good", "n": 3.0, "over": false}, in.body)
		_, err = send(t, configOf(Receiver{Kind: KindWebhook, URL: in.URL, ContentType: "text/plain; charset=utf-8", Template: "{{.Title}}"}), sample)
		require.NoError(t, err)
		require.Equal(t, "text/plain; charset=utf-8", in.header.Get("Content-Type"))
		require.Equal(t, map[string]any{"raw": "[reax] Alert: tasks of report.generate failed for good"}, in.body)
	})
}

func TestWhatAChatRefusesIsTriedAgainAndNoErrorHoldsASecret(t *testing.T) {
	in := newInbox(t, `{"errcode":310000,"errmsg":"sign not match"}`)
	c := configOf(Receiver{Kind: KindDingTalk, URL: in.URL + "/send?access_token=hidden-token", Secret: "hidden-secret"})
	_, err := send(t, c, sample)
	require.EqualError(t, err, "dingtalk has not taken the message: 310000 sign not match")
	require.True(t, tasks.Judge(err, tasks.DefaultPolicy()).Retryable)
	in.answer = "<html>"
	_, err = send(t, c, sample)
	require.ErrorContains(t, err, "the answer is not JSON")
	in.status = http.StatusBadGateway
	_, err = send(t, c, sample)
	require.ErrorContains(t, err, "502")
	in.Close()
	_, err = send(t, c, sample)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hidden")

	c.Hosts = []tasks.HostRules{{Deny: []string{"localhost"}}}
	c.Receivers[0].URL = "http://localhost:1/send"
	require.ErrorContains(t, c.Validate(), "deny_hosts")
	c.Receivers[0].URL = "http://127.0.0.1:1/send"
	c.Hosts[0].Deny = []string{"127.0.0.0/8"}
	require.ErrorContains(t, c.Validate(), "deny_hosts")

	gone := sample
	gone.Receiver = "former"
	_, err = send(t, configOf(Receiver{Kind: KindSlack, URL: in.URL}), gone)
	require.ErrorContains(t, err, `no receiver "former"`)
	require.False(t, tasks.Judge(err, tasks.DefaultPolicy()).Retryable)
}

func TestAReceiverThatCannotWorkIsRefused(t *testing.T) {
	mail := Mail{Server: "mail.example.com:587", From: "reax@example.com", To: []string{"ops@example.com"}}
	for name, test := range map[string]struct {
		r    Receiver
		want string
	}{
		"kind":                    {Receiver{Kind: "pigeon"}, "not one of"},
		"no url":                  {Receiver{Kind: KindSlack}, "url: only http:// and https://"},
		"url with a secret":       {Receiver{Kind: KindDingTalk, URL: "::hidden", Secret: "hidden"}, "url: not a URL"},
		"secret of slack":         {Receiver{Kind: KindSlack, URL: "https://a.example", Secret: "hidden"}, "a secret is not for"},
		"headers of slack":        {Receiver{Kind: KindSlack, URL: "https://a.example", Headers: map[string]string{"A": "b"}}, "headers are only for"},
		"template of json":        {Receiver{Kind: KindJSON, URL: "https://a.example", Template: "x"}, "only for a webhook"},
		"no template":             {Receiver{Kind: KindWebhook, URL: "https://a.example"}, "needs a template"},
		"template that ends":      {Receiver{Kind: KindWebhook, URL: "https://a.example", Template: "{\n{{.Title}"}, "template:2:"},
		"field that is not there": {Receiver{Kind: KindWebhook, URL: "https://a.example", Template: "{{.Titel}}"}, "Titel"},
		"no JSON":                 {Receiver{Kind: KindWebhook, URL: "https://a.example", Template: `{"a": "{{.Facts.Error}}"}`}, "no valid JSON"},
		"endless template":        {Receiver{Kind: KindWebhook, URL: "https://a.example", ContentType: "text/plain", Template: `{{define "a"}}{{.Text}}{{template "a" .}}{{end}}{{template "a" .}}`}, ""},
		"content type":            {Receiver{Kind: KindWebhook, URL: "https://a.example", ContentType: "/", Template: "{}"}, "content_type"},
		"mail server":             {Receiver{Kind: KindMail, Mail: Mail{Server: "mail"}}, "server: "},
		"user alone":              {Receiver{Kind: KindMail, Mail: Mail{Server: mail.Server, From: mail.From, To: mail.To, User: "a"}}, "belong together"},
		"password in the clear":   {Receiver{Kind: KindMail, Mail: Mail{Server: mail.Server, From: mail.From, To: mail.To, User: "a", Password: "hidden", TLS: TLSNone}}, "in the clear"},
		"from":                    {Receiver{Kind: KindMail, Mail: Mail{Server: mail.Server, From: "a\nb", To: mail.To}}, "from: "},
		"to":                      {Receiver{Kind: KindMail, Mail: Mail{Server: mail.Server, From: mail.From, To: []string{"x"}}}, "to: "},
	} {
		t.Run(name, func(t *testing.T) {
			test.r.Name = "ops"
			err := test.r.Validate(nil)
			require.Error(t, err)
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "hidden")
		})
	}
	require.NoError(t, (&Receiver{Name: "ops", Kind: KindMail, Mail: mail}).Validate(nil))
	require.NoError(t, Register(tasks.NewRegistry(), Config{}))
}

func TestEveryKindAndEventHasItsWordsInBothLanguages(t *testing.T) {
	for _, language := range []string{English, Chinese} {
		for _, kind := range []string{"dead", "success_rate", "oldest_wait", "backlog", "schedule_missed", "slow_run", "restarts", "disk_low"} {
			for _, event := range []string{tasks.NoticeBegin, tasks.NoticeRepeat, tasks.NoticeEnd} {
				for _, name := range []string{"", "a/b"} {
					c := Config{Language: language, PublicURL: "https://x.example"}
					m := c.message(tasks.Notice{Event: event, Rule: "r", Kind: kind, Since: sample.Since, Facts: tasks.NoticeFacts{Name: name, Value: 1 << 31, Limit: 5, Count: 2, Window: 600, Fingerprint: "f"}})
					require.NotContains(t, m.Text, "%!")
					require.NotContains(t, m.Title, kind)
					require.NotContains(t, m.Title, "  ")
					require.True(t, strings.HasPrefix(m.URL, "https://x.example/"), m.URL)
				}
			}
		}
	}
	bare := (&Config{}).message(sample)
	require.NotContains(t, bare.Text, "http://127")
	require.Contains(t, bare.Text, "To mute it: open Alerts on the dashboard and mute the rule broken")
	test := (&Config{Language: Chinese}).message(tasks.Notice{Event: tasks.NoticeTest, Receiver: "ops", By: "ann"})
	require.Equal(t, "[reax] 测试消息\n接收方 ops 可以正常收到消息。\n发送人：ann", test.Text)
}

func TestTheAddressOfADashboardIsPlain(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://reax.example.com": true, "http://10.0.0.7:8080/reax": true, "https://reax.example.com/": true,
		"reax.example.com": false, "ftp://a": false, "https://user@a": false, "https://a/?q": false, "https://a/)b": false, "https://a b": false, "": false,
	} {
		require.Equal(t, ok, CheckPublicURL(text) == nil, text)
	}
}
