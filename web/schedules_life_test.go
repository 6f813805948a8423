package web

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
)

func TestAScheduleMakesTasksOverHTTP(t *testing.T) {
	w := newWorld(t)
	w.send(scenario{url: schedulesURL, status: 201, must: []string{`"version":1`, `"missed":"run_once","overlap":"skip"`, `"description":"`},
		body: `{"name":"team/tick","task":"blob","every":1,"params":{"at":"{{ .ScheduledFor }}","n":12345678901234567890},"tags":["tick"],"priority":2}`})
	text := w.wait(tasksURL+"?tag=tick", `"state":"success"`)
	require.Contains(t, text, `"schedule":"team/tick","scheduled_for":"20`)
	var page struct {
		Tasks []struct {
			Params struct {
				At string
				N  json.Number
			}
			ScheduledFor string `json:"scheduled_for"`
			Priority     int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &page))
	first := page.Tasks[len(page.Tasks)-1]
	require.Equal(t, "12345678901234567890", first.Params.N.String())
	require.Equal(t, strings.TrimSuffix(first.Params.At, "Z")+".000000Z", first.ScheduledFor)
	require.Equal(t, 2, first.Priority)
	w.wait(schedulesURL+"/team%2Ftick", `"outcome":"enqueued","task_id":1,"late":false`)
	w.send(scenario{url: schedulesURL, status: 200, must: []string{`"last_outcome":"enqueued"`, `"last_task_id":`}, mustNot: []string{`"runs":0`}})
}

func TestAScheduleIsEditedOverHTTP(t *testing.T) {
	w := newWorld(t)
	const daily = schedulesURL + "/daily"
	w.send(scenario{url: schedulesURL, status: 201, body: `{"name":"daily","task":"gate","cron":"30 13 * * *","timezone":"Asia/Shanghai","reason":"asked for"}`,
		must: []string{`"next":"`, `T13:30:00+08:00"`, `"updated_by":"api"`}})
	w.send(scenario{url: schedulesURL, status: 422, body: `{"name":"daily","task":"gate","cron":"@daily"}`, must: []string{`"/name"`}})
	w.send(scenario{method: "PATCH", url: daily, status: 200, body: `{"version":1,"cron":"0 16 * * *","tags":["a"]}`, must: []string{`"version":2`, `T16:00:00+08:00"`}})
	// The second editor had version 1 as well.
	answer := w.send(scenario{method: "PATCH", url: daily, status: 409, body: `{"version":1,"cron":"0 12 * * *","tags":["a"]}`,
		must: []string{`"code":"conflict"`, `"current":{"name":"daily"`, `"errors":[{"location":"/cron","message":"is now 0 16 * * *","code":"is_now"}]`}})
	requireProblem(t, answer)
	w.send(scenario{method: "PATCH", url: daily, status: 200, body: `{"version":2,"name":"a/b","every":"1h","timezone":""}`, must: []string{`"every":"1h"`, `"timezone":"UTC"`}})
	w.send(scenario{url: daily, status: 404})
	const renamed = schedulesURL + "/a%2Fb"
	w.send(scenario{method: "PATCH", url: renamed, status: 422, body: `{"version":3,"params":{"x":"{{ .Scheduled }}"}}`, must: []string{`"/params/x"`}})
	w.send(scenario{method: "PATCH", url: renamed, status: 422, body: `{"version":3,"at":"2020-01-01T00:00:00Z"}`, must: []string{`"/at"`}})
	w.send(scenario{method: "POST", url: renamed + "/pause", body: `{"reason":"audit","until":"2030-01-01T00:00:00Z"}`, status: 200,
		must: []string{`"paused":true,"pause_reason":"audit","paused_by":"api","paused_until":"2030-01-01T00:00:00.000000Z"`}})
	w.send(scenario{method: "POST", url: renamed + "/resume", status: 200, must: []string{`"paused":false`}})
	require.Zero(t, w.all(), "nothing of this fires")
	w.send(scenario{method: "POST", url: renamed + "/run", status: 201, must: []string{`"schedule":"a/b","scheduled_for":null`}})
	require.Equal(t, 1, w.all())
	w.send(scenario{method: "DELETE", url: renamed, status: 204})
	w.send(scenario{url: renamed, status: 404})
	w.send(scenario{url: tasksURL + "/1", status: 200, must: []string{`"schedule":"a/b"`}})
	close(w.release)
}

func TestSchedulesOfTheFileAreChangedThere(t *testing.T) {
	w := newWorld(t)
	spec := actors.ScheduleSpec{Name: "nightly", Task: "blob", Cron: "0 3 * * *"}
	require.NoError(t, w.runtime.SyncSchedules(t.Context(), []actors.ScheduleSpec{spec}))
	const nightly = schedulesURL + "/nightly"
	w.send(scenario{url: nightly, status: 200, must: []string{`"owner":"file"`, `"occurrences":[]`}})
	w.send(scenario{method: "PATCH", url: nightly, body: `{"version":1,"cron":"@daily"}`, status: 409, must: []string{`"owned_by_file"`}})
	w.send(scenario{method: "DELETE", url: nightly, status: 409, must: []string{`"owned_by_file"`}})
	w.send(scenario{method: "POST", url: nightly + "/pause", status: 200, must: []string{`"next_at":null`}})
	w.send(scenario{method: "POST", url: nightly + "/run", status: 201})

	w.send(scenario{url: schedulesURL, status: 201, body: `{"name":"mine","task":"blob","cron":"@daily"}`})
	_, owned := errors.AsType[*models.OwnedError](w.runtime.SyncSchedules(t.Context(), []actors.ScheduleSpec{{Name: "mine", Task: "blob", Cron: "@daily"}}))
	require.True(t, owned)
	require.NoError(t, w.runtime.SyncSchedules(t.Context(), nil))
	w.send(scenario{url: nightly, status: 404})
	w.send(scenario{url: schedulesURL + "/mine", status: 200})
}

func TestTheRuntimeStoresNothingOfABadSchedule(t *testing.T) {
	w := newWorld(t)
	for i, body := range []string{
		`"task":"no.such","cron":"@daily"`, `"task":"echo","cron":"0 0 30 2 *"`, `"task":"echo","cron":"@daily","timezone":"Local"`, `"task":"echo"`,
		`"task":"echo","cron":"@daily","params":{"m":1}`, `"task":"echo","cron":"@daily","params":{"n":"{{ range .Name }}x{{ end }}"}`,
		`"task":"echo","cron":"@daily","params":{"n":"{{"}`, `"task":"echo","every":"1.5s"`, `"task":"echo","every":"99999h"`, `"task":"echo","at":"2020-01-01T00:00:00Z"`,
		`"task":"echo","cron":"@daily","tags":["\n"]`, `"task":"echo","cron":"@daily","reason":"a\tb"`, `"task":"echo","cron":"@daily","params":{"n":1e9999999}`,
	} {
		answer := send(w.handler, scenario{url: schedulesURL, body: `{"name":"s` + strconv.Itoa(i) + `",` + body + `}`}.request())
		require.Equal(t, 422, answer.Code, "%s: %s", body, answer.Body)
		requireProblem(t, answer)
	}
	w.send(scenario{url: schedulesURL, status: 200, must: []string{`{"schedules":[],"next_cursor":null}`}})
}
