package views

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/assert"

	"reax/models"
	"reax/tasks"
)

// mostBytes is what the HTML of a list of fifty rows may be.
const mostBytes = 60_000

// What a page shows to who has not chosen how much: of some lists that is less, for their rows are larger.
const (
	schedulesShown = 30
	auditShown     = 40
	groupsShown    = 15
	alertsShown    = 25
	typesKept      = 40 // a list without pages, but few have more
)

const (
	longType  = "billing.customer-statements/v2:monthly.export" // longer than most
	longError = `POST https://crm.example.com/v2/customers/4417/statements: 503 Service Unavailable: {"code": "maintenance", "until": "<later>"}`
)

func fifty[T any](one T) []T { return many(one, DefaultPageSize) }

func many[T any](one T, n int) []T { return slices.Repeat([]T{one}, n) }

// fullTasks is the list of tasks in a state with everything that a row can have.
func fullTasks(state models.State, text string) Tasks {
	page := someTasks()
	row := page.Rows[0]
	row.ID, row.Type, row.State, row.Error, row.ErrorKind, row.Worker = 12_345_678, longType, state, text, "permanent", longType+"/worker-1"
	row.Params = text
	if state != models.StateFailed && state != models.StateDead && state != models.StateRetryWait {
		row.Error = ""
	}
	row.StuckAt, row.Suspected = 0, "" // neither are there fifty of
	page.State, page.Rows = state, fifty(row)
	page.Fields, page.More = fifty(Field{ID: "f-tag", Name: "tag", Kind: "text", Label: "A label", Value: "a value"})[:4], fifty(Field{ID: "f-tag", Name: "tag", Kind: "text", Label: "A label"})[:9]
	page.Types = slices.Repeat([]string{longType}, 20)
	return page
}

func fullTypes() Types {
	finished := make([]float64, 60)
	for i := range finished {
		finished[i] = 40 + 30*math.Sin(float64(i)*1.7)
	}
	return Types{Rows: many(TypeRow{
		Name: longType, Description: strings.Repeat("What the type does. ", 10), Registered: true, Pool: PoolFigures{Concurrency: 16, Busy: 11, Ready: 1234},
		Counts: map[models.State]int64{models.StateDead: 1234}, Finished: finished, Succeeded: 99_990, Ended: 100_000, RunP95: time.Second,
	}, typesKept)}
}

func fullAudit() AuditTrail {
	change := `{"concurrency": "4", "cron": "0 7 * * 1-5", "timezone": "Asia/Shanghai", "params": "{\"customer\": 4417, \"full\": true}"}`
	row := AuditRow{URL: "/reax/schedules/" + longType, Audit: models.Audit{
		At: noon, Actor: "someone@example.com", Action: "update", Target: "schedule", TargetID: longType, Before: change, After: change,
		Reason: strings.Repeat("because the bank is closed ", 4), Address: "2001:db8:85a3::8a2e:370:7334", RequestID: "DH67WIHDH2UUFNILMQL2G7G2EW",
	}}
	return AuditTrail{Rows: many(row, auditShown), Older: "/reax/audit?cursor=MTIzNDU2Nzg5MA", CSV: "/reax/audit/export.csv", Fields: fifty(Field{ID: "f", Name: "f", Kind: "text", Label: "A label"})[:8]}
}

func fullSchedules() Schedules {
	row := aPlan()
	row.Name, row.Description = longType, "At 02:30, Monday to Friday, America/Argentina/ComodRivadavia"
	row.Past = slices.Concat(row.Past, many(row.Past[0], 30), row.Past[1:4], many(row.Past[0], 20), row.Past[3:])
	return Schedules{Rows: many(row, schedulesShown), More: "/reax/schedules?after=x"}
}

func fullDead() Dead {
	page := someDead()
	group := page.Rows[0]
	group.Type, group.Message, group.Hours = longType, longError+longError, slices.Repeat([]int{3, 7, 1, 12}, 6)
	group.Common = slices.Repeat([]CommonValue{{Path: "customer.id", Value: "4417", N: 9, Of: 11, URL: "/reax/tasks?type=" + longType + "&param=customer.id%3D4417"}}, 2)
	page.Rows = many(group, groupsShown)
	return page
}

func fullAlerts() Alerts {
	row := AlertRow{Alert: models.Alert{ID: 3, Rule: "broken-in-production", Kind: models.AlertDead, Key: "k", Since: noon, BeganAt: noon, EndedAt: noon, ToldTo: models.NewTypeNames([]string{"ops", "chat"})},
		Facts: models.AlertFacts{Name: longType, Fingerprint: "00112233445566aa", Error: longError, Count: 1234}}
	return Alerts{History: many(row, alertsShown), Older: "/reax/alerts?before=1", Receivers: [][2]string{{"ops", "slack"}}}
}

func TestAListOfFiftyFullRowsIsSmall(t *testing.T) {
	t.Parallel()
	taskRow := fullTasks(models.StateDead, longError).Rows[0]
	run := models.BulkRun{ID: 1234, Action: models.ActionRetry, State: models.BulkDone, Matched: 100_000, Done: 99_000, Skipped: 1000, Actor: "someone@example.com", Reason: longError, StartedAt: noon}
	token := models.Token{Name: "ci-of-the-billing-team", Prefix: "reax_ABC", Role: models.RoleOperator, Types: `["` + longType + `"]`, CreatedBy: "someone@example.com", CreatedAt: noon, UsedAt: noon, ExpiresAt: noon}
	user := models.User{Name: "someone.with-a-name@example.com", NameKey: "someone.with-a-name@example.com", Role: models.RoleOperator, CreatedAt: noon, SeenAt: noon}
	incident := models.Incident{ID: 7, Title: "Some reports are late", Kind: models.IncidentTrouble, State: models.IncidentMonitoring, Severity: "major", BeginsAt: noon, EndsAt: noon}
	pages := map[string]templ.Component{
		"audit":      AuditPage(fullAudit()),
		"schedules":  SchedulesPage(fullSchedules()),
		"types":      TypesPage(fullTypes()),
		"dead":       DeadPage(fullDead()),
		"dead group": DeadGroupPage(DeadDetail{DeadGroup: fullDead().Rows[0], Rows: fifty(taskRow), Back: "/reax/dead"}),
		"alerts":     AlertsPage(fullAlerts()),
		"bulks":      BulkListPage(BulkList{Rows: fifty(run)}),
		"bulk":       BulkPage(Bulk{BulkRun: run, Rows: fifty(taskRow)}),
		"tokens":     TokensPage(fifty(TokenRow{Token: token, Owner: "someone@example.com", Holds: true}), TokenForm{}),
		"accounts":   UsersPage(Users{Rows: fifty(user)}),
		"incidents":  IncidentsPage(Incidents{Open: []models.Incident{incident}, Past: fifty(incident)}),
		"by type":    DeadPage(Dead{ByType: &Matrix{Windows: []string{"a", "b", "c", "d", "e"}, Rows: fifty(MatrixRow{Type: longType, URL: "/reax/dead?type=" + longType, Cells: slices.Repeat([]MatrixCell{{N: 1234, URL: "/reax/tasks?state=failed%2Cdead&window=1h&type=" + longType}}, 5)})}}),
		"enqueue":    EnqueueTypesPage(EnqueueTypes{Types: fifty(TypeChoice{Name: longType, Kind: string(tasks.KindGo), Description: strings.Repeat("What the type does. ", 10)})}),
	}
	suspected := fullTasks(models.StatePending, longError)
	for i := range suspected.Rows {
		suspected.Rows[i].Suspected = "its process died"
	}
	pages["suspected"] = TasksPage(suspected)
	pages["dead in Chinese"] = TasksPage(fullTasks(models.StateDead, strings.Repeat("错误", 5000)))
	for _, state := range append([]models.State{""}, models.States...) {
		for i, text := range []string{longError, strings.Repeat("同步客户 4417 失败：对方系统返回 503（正在维护），请稍后重试；", 100), strings.Repeat(`"<`, 5000), strings.Repeat("\u202e", 5000)} {
			pages[fmt.Sprintf("tasks %s %d", state, i)] = TasksPage(fullTasks(state, text))
		}
	}
	for name, page := range pages {
		for _, locale := range Locales {
			ctx := viewer(t, func(v *Viewer) { v.Locale, v.Open = locale, true })
			size := len(Tame([]byte(render(ctx, t, page))))
			assert.Less(t, size, mostBytes, "%s in %s", name, locale)
		}
	}
}
