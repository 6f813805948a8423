package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// inbox is what receivers of messages were sent.
type inbox struct {
	mu  sync.Mutex
	got []string
}

func (b *inbox) put(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, text)
}

func (b *inbox) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.got...)
}

// hook is a receiver on this machine: /good takes messages, /busy answers 500 and /gone 410.
func (b *inbox) hook(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Event, Rule, Title string }
		text, err := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/busy":
			w.WriteHeader(http.StatusInternalServerError)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		default:
			if err != nil || json.Unmarshal(text, &m) != nil {
				t.Errorf("the message cannot be read: %s", text)
			}
			b.put(m.Event + " " + m.Rule)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// postOffice is a mail server on this machine that takes every letter; of each it keeps the subject.
func (b *inbox) postOffice(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { b.letters(conn) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); open.Wait() })
	return listener.Addr().String()
}

func (b *inbox) letters(conn net.Conn) {
	defer conn.Close()
	say := func(text string) { _, _ = io.WriteString(conn, text+"\r\n") }
	say("220 here")
	in := bufio.NewScanner(conn)
	for inside := false; in.Scan(); {
		switch line := in.Text(); {
		case inside && line == ".":
			inside = false
			say("250 taken")
		case inside:
			if subject, ok := strings.CutPrefix(line, "Subject: "); ok {
				b.put(subject)
			}
		case line == "DATA":
			inside = true
			say("354 go on")
		case line == "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

const alertsConfig = `
tasks:
  report.daily: {command: [/usr/bin/test, -e, mended], permanent_exit_codes: [1]}
alerts:
  receivers:
    hook: {kind: json, url: %[1]s/good, secret: "a key"}
    post: {kind: mail, server: %[2]s, tls: none, from: reax@example.com, to: [ops@example.com]}
    busy: {kind: json, url: %[1]s/busy}
    gone: {kind: json, url: %[1]s/gone}
  rules:
    broken: {when: dead}
    failing: {when: success_rate, below: 99%%, samples: 1000}
`

// TestADeadTaskIsToldOnceAndItsEndOnce is the whole way: from a task that fails to what people get, and back.
func TestADeadTaskIsToldOnceAndItsEndOnce(t *testing.T) {
	t.Parallel()
	var hook, post inbox
	p := newPlace(t)
	p.program = reaxProgram
	p.config(t, fmt.Sprintf(alertsConfig, hook.hook(t), post.postOffice(t)))
	s := p.start(t)
	// Rules are looked at every ten seconds, and when one is changed or unmuted.
	await := func(hooked, posted int) {
		t.Helper()
		until(t, patience, func() string {
			s.must(t, http.MethodPost, "/api/v1/alerts/rules/broken/unmute", nil)
			if h, l := hook.all(), post.all(); len(h) < hooked || len(l) < posted {
				return fmt.Sprintf("the messages are %q, the letters %q", h, l)
			}
			return ""
		})
	}
	for range 3 {
		require.Equal(t, 1, p.reax(t, "enqueue", "report.daily", "--wait").code)
	}
	await(1, 1)
	require.Contains(t, p.ok(t, "alerts"), "firing  broken")

	made := p.reax(t, "enqueue", "reax.alert", "--params", `{"receiver": "hook", "event": "begin", "rule": "a lie"}`)
	require.Equal(t, 1, made.code)
	require.Contains(t, made.stderr, `reax itself makes the tasks of "reax.alert"`)

	// What becomes of messages that are not taken is to be seen, and no more than that.
	var page struct{ Tasks []task }
	until(t, patience, func() string {
		s.get(t, "/api/v1/tasks?type=reax.alert", &page)
		all := fmt.Sprint(len(page.Tasks))
		for _, m := range page.Tasks {
			all += " " + m.State + " " + m.Error
		}
		if strings.HasPrefix(all, "4") && strings.Contains(all, "retry_wait the endpoint answered 500") && strings.Contains(all, "failed the endpoint answered 410") {
			return ""
		}
		return all
	})

	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "mended"), nil, 0o600))
	s.get(t, "/api/v1/tasks?type=report.daily", &page)
	require.Len(t, page.Tasks, 3)
	for _, dead := range page.Tasks {
		p.ok(t, "retry", fmt.Sprint(dead.ID))
		s.awaitState(t, dead.ID, "success")
	}
	await(2, 2)
	listed := p.ok(t, "alerts")
	require.Contains(t, listed, "ended  broken")
	require.NotContains(t, listed, "firing")
	require.Equal(t, 2, strings.Count(listed, "\n"), "one alert, and none about the messages:\n%s", listed)
	s.stop(t)
	require.Equal(t, []string{"begin broken", "end broken"}, hook.all())
	letters := post.all()
	require.Len(t, letters, 2)
	require.Contains(t, letters[0], "report.daily")
	require.Contains(t, letters[1], "report.daily")
}
