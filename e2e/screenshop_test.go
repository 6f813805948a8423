package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shopConfig is a small shop: what people see in it looks like what they have.
const shopConfig = `
database: reax.db
tasks:
  mail.send:
    description: Sends one message.
    http: {url: "%[1]s/mail"}
    concurrency: 4
    timeout: 30s
    params:
      type: object
      required: [to, template]
      properties:
        to: {type: string, format: email, title: To, description: "Who gets it.", examples: [ada@example.com]}
        template: {type: string, enum: [welcome, invoice, reminder, digest], title: Template}
        subject: {type: string, maxLength: 200, title: Subject}
        copies: {type: integer, minimum: 1, maximum: 10, default: 1, title: Copies}
        urgent: {type: boolean, title: Urgent}
        labels: {type: array, items: {type: string}, title: Labels}
        token: {type: string, title: Token, writeOnly: true}
      additionalProperties: false
  crm.sync:
    description: Copies a customer to the other system.
    http: {url: "%[1]s/crm"}
    concurrency: 2
    max_retries: 2
    backoff: {base: 50ms, max: 100ms}
    params: {type: object, required: [customer], properties: {customer: {type: integer, title: Customer}, full: {type: boolean, title: Everything}}}
  invoice.render: {description: Renders an invoice., http: {url: "%[1]s/invoice"}, concurrency: 3}
  image.resize: {description: Makes the small pictures., http: {url: "%[1]s/image"}, concurrency: 4, timeout: 10m}
  search.reindex: {description: Builds the index anew., http: {url: "%[1]s/search"}, concurrency: 1, timeout: 1h}
  ledger.close: {description: Closes the day., http: {url: "%[1]s/ledger"}, max_retries: 5, backoff: {base: 10m, max: 1h}}
schedules:
  close-of-day: {task: ledger.close, cron: "30 2 * * 1-5", timezone: Europe/Berlin, params: {day: "{{ .ScheduledFor.Format \"2006-01-02\" }}"}}
  digest: {task: mail.send, every: 15m, params: {to: team@example.com, template: digest}}
`

// shop is what stands behind the task types of the shop.
func shop(t *testing.T) *httptest.Server {
	t.Helper()
	done := make(chan struct{})
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p struct {
			Customer, Width int
			To              string
		}
		_ = json.NewDecoder(r.Body).Decode(&p)
		refuse := func(code int, format string, args ...any) {
			w.WriteHeader(code)
			fmt.Fprintf(w, format, args...)
		}
		select { // what takes no time makes no chart
		case <-time.After(time.Duration(5+r.ContentLength%40) * time.Millisecond):
		case <-done:
		}
		switch {
		case r.URL.Path == "/crm" && p.Customer%13 == 0:
			refuse(http.StatusServiceUnavailable, "the other system is being maintained (customer %d)", p.Customer)
		case r.URL.Path == "/ledger":
			refuse(http.StatusServiceUnavailable, "the books are still open")
		case r.URL.Path == "/mail" && strings.HasPrefix(p.To, "nobody"):
			refuse(http.StatusUnprocessableEntity, "the mailbox %s does not exist", p.To)
		case r.URL.Path == "/search", p.Width > 4000:
			select {
			case <-done:
			case <-r.Context().Done():
			}
		default:
			fmt.Fprint(w, `{"accepted":true}`)
		}
	}))
	t.Cleanup(endpoint.Close)
	t.Cleanup(func() { close(done) })
	return endpoint
}

// openShop serves a shop with tasks in every state and with an hour behind it.
func openShop(t *testing.T) *server {
	t.Helper()
	p := newPlace(t)
	p.program = reaxProgram
	p.config(t, fmt.Sprintf(shopConfig, shop(t).URL))
	s := p.start(t)
	var all []int64
	add := func(typ string, params fields, more fields) { all = append(all, s.enqueue(t, typ, params, more).ID) }
	for i := range 40 {
		add("crm.sync", fields{"customer": 4400 + i}, nil)
		add("mail.send", fields{"to": fmt.Sprintf("ada%d@example.com", i), "template": "welcome", "subject": "Welcome to the shop", "token": "secret"}, fields{"tags": []string{"campaign"}})
		add("invoice.render", fields{"invoice": 20260000 + i, "currency": "EUR"}, fields{"priority": 3})
	}
	for i := range 3 {
		add("mail.send", fields{"to": fmt.Sprintf("nobody%d@example.com", i), "template": "invoice"}, nil)
		add("ledger.close", fields{"day": fmt.Sprintf("2026-02-0%d", i+1)}, nil)
	}
	until(t, patience, func() string {
		if c := s.counts(t); c["pending"]+c["running"] > 0 || c["dead"] != 3 {
			return fmt.Sprint(c)
		}
		return ""
	})
	s.must(t, http.MethodPost, "/api/v1/types/invoice.render/pause", []byte(`{"reason":"the printer is out of paper"}`))
	for _, plan := range []string{
		`{"name":"weekly-report","task":"mail.send","cron":"0 8 * * 1","timezone":"Asia/Shanghai","params":{"to":"ada@example.com","template":"digest"}}`,
		`{"name":"cleanup","task":"image.resize","every":"6h","params":{"file":"old.jpg"}}`,
	} {
		got := s.must(t, http.MethodPost, "/api/v1/schedules", []byte(plan))
		require.Equal(t, http.StatusCreated, got.status, "%s", got.body)
	}
	s.must(t, http.MethodPost, "/api/v1/schedules/cleanup/pause", []byte(`{"reason":"the disk is being replaced"}`))
	s.stop(t)
	p.addHistory(t)
	s = p.start(t)
	for i := range 3 {
		add("image.resize", fields{"file": fmt.Sprintf("catalogue/%04d.jpg", i), "width": 4096 + i}, nil)
		add("search.reindex", fields{"index": "products"}, fields{"priority": 8})
		add("invoice.render", fields{"invoice": 20260100 + i, "currency": "EUR"}, nil)
	}
	s.enqueue(t, "mail.send", fields{"to": "ada@example.com", "template": "reminder"}, fields{"delay": "2h"})
	until(t, patience, func() string {
		if c := s.counts(t); c["running"] != 4 {
			return fmt.Sprint(c)
		}
		return ""
	})
	return s
}

// addHistory gives the shop an hour of figures before the start, past the program: more and less to do, a bad quarter of
// an hour, and tasks that are older the lower their ids are.
func (p *place) addHistory(t *testing.T) {
	t.Helper()
	db := p.database(t)
	type minute struct {
		at                         int64
		typ, wait, run             string
		succeeded, retried, failed int
	}
	rows := query(t, db, `SELECT minute, type, wait_hist, run_hist, succeeded, retried, failed FROM minute_stats WHERE minute = (SELECT min(minute) FROM minute_stats)`,
		func(r *sql.Rows, m *minute) error {
			return r.Scan(&m.at, &m.typ, &m.wait, &m.run, &m.succeeded, &m.retried, &m.failed)
		})
	for _, m := range rows {
		for k := range int64(60) {
			busy, bad := 0.7+0.3*math.Sin(float64(k)/9)+0.05*float64(k*7%5), 0
			if k > 20 && k < 36 {
				bad = int(4 * (1 - math.Abs(float64(k)-28)/8))
			}
			slower := int(1.9 + math.Sin(float64(k)/6)) // buckets of the histograms
			_, err := db.Exec(`INSERT OR IGNORE INTO minute_stats (minute, type, enqueued, started, succeeded, retried, failed, wait_hist, run_hist) VALUES (?, ?, 0, 0, ?, ?, ?, ?, ?)`,
				m.at-(k+1)*time.Minute.Microseconds(), m.typ, int(busy*float64(m.succeeded)), m.retried*bad/2, bad, shifted(t, m.wait, slower), shifted(t, m.run, slower))
			require.NoError(t, err)
		}
	}
	age := fmt.Sprintf("((SELECT max(id) FROM tasks) - %%s) * %d", (27 * time.Second).Microseconds())
	for _, change := range []string{
		"UPDATE tasks SET created_at = created_at - AGE, run_at = run_at - AGE, started_at = started_at - AGE, finished_at = finished_at - AGE, updated_at = updated_at - AGE WHERE state <> 'retry_wait'",
		"UPDATE attempts SET started_at = started_at - TASK, finished_at = finished_at - TASK, retry_at = retry_at - TASK",
		"UPDATE error_groups SET first_at = (SELECT min(finished_at) FROM tasks t WHERE t.fingerprint = error_groups.fingerprint), last_at = (SELECT max(finished_at) FROM tasks t WHERE t.fingerprint = error_groups.fingerprint) WHERE n > 0",
	} {
		_, err := db.Exec(strings.NewReplacer("AGE", fmt.Sprintf(age, "id"), "TASK", fmt.Sprintf(age, "task_id")).Replace(change))
		require.NoError(t, err)
	}
}

// shifted is a histogram with its counts some buckets higher.
func shifted(t *testing.T, histogram string, by int) string {
	t.Helper()
	var counts []int
	require.NoError(t, json.Unmarshal([]byte(histogram), &counts))
	text, err := json.Marshal(append(make([]int, by), counts...))
	require.NoError(t, err)
	return string(text)
}
