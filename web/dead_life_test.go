package web

import (
	"encoding/csv"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type failParams struct {
	Note string `json:"note,omitempty"`
}

func TestDeadLettersAreRepairedInGroups(t *testing.T) {
	w := newWorld(t)
	const tasks = 60
	var all []string
	for range tasks {
		all = append(all, `{"type":"fail"}`)
	}
	w.send(scenario{url: tasksURL + "/batch", body: `{"tasks":[` + strings.Join(all, ",") + `]}`, status: 201})
	html := w.wait("/dead", "1 group with 60 tasks")
	require.NotContains(t, html, "<b>luck</b>")
	require.Contains(t, html, "no &lt;b&gt;luck&lt;/b&gt;")
	require.Contains(t, html, "permanent error")
	group := regexp.MustCompile(`href="(/dead/fail/[0-9a-f]{16})"`).FindStringSubmatch(html)[1]
	post := func(at, body string) string {
		return w.send(scenario{method: "POST", url: at, body: body, status: 303, header: browser()}).Header().Get("Location")
	}

	// One first, which fails again.
	first := post(group, "do=first&back=/dead")
	require.Equal(t, group+"?first=60", first)
	w.wait(first, "with the same error again")

	// Then all of them, of which one has been retried by someone else since the question.
	question := post(group, "do=retry&back=/dead?q=luck")
	w.send(scenario{url: question, status: 200, header: browser(), must: []string{"Retry 60 tasks?", "10 of 60"}})
	w.enqueue(`{"type":"fail"}`)
	w.wait("/dead", "1 group with 61 tasks")
	require.Equal(t, question, post(strings.Split(question, "?")[0], "spread=0&back=/dead?q=luck"))
	html = w.wait(question, "Finished: retry of 60 tasks")
	require.Contains(t, html, `href="/dead?q=luck"`, "the way back keeps the filter")
	require.NotContains(t, html, "Left alone</h2>")
	w.wait("/dead", "1 group with 61 tasks")
	w.wait("/dead?view=types", "fail")

	// What matches a filter is cancelled: nothing of it can be, and the page says why.
	question = post("/tasks/bulk", "do=cancel&scope=all&query=state%3Dfailed%26type%3Dfail&back=/tasks")
	post(strings.Split(question, "?")[0], "back=/tasks")
	w.wait(question, "61 tasks: it is failed")

	// With other parameters they run as new tasks, which fail as the old ones did; those say what took their place.
	question = post(group+"/edit", "patch="+url.QueryEscape(`{"bogus":1}`))
	w.send(scenario{url: question, status: 200, header: browser(), must: []string{"10 of these 10 would be left alone", "bogus: is not a known parameter"}})
	question = post(group+"/edit", "patch="+url.QueryEscape(`{"note":"<i>new</i>"}`))
	w.send(scenario{url: question, status: 200, header: browser(), must: []string{"Run 61 tasks again with other parameters?", "&lt;i&gt;new"}})
	post(strings.Split(question, "?")[0], "spread=0")
	w.wait(question, "Finished: replacing 61 tasks")
	w.wait("/dead", "1 group with 61 tasks")
	w.send(scenario{url: "/tasks/61", status: 200, header: browser(), must: []string{"Replaced by", `href="/tasks/62"`, `href="` + strings.Split(question, "?")[0] + `"`}})
	w.send(scenario{url: "/tasks/62", status: 200, header: browser(), must: []string{"&lt;i&gt;new", `href="/tasks/61"`}})
	w.send(scenario{url: "/bulk", status: 200, header: browser(), must: []string{"Finished: replacing 61 tasks", "Finished: retry of 60 tasks", "Finished: cancelling 61 tasks"}})

	// A name and a mute stay with the error.
	post(group+"/mark", "name=bad+luck&mute=always")
	w.wait("/dead", "1 muted group")
	w.wait("/dead", "bad luck")
	post(group+"/mark", "name=bad+luck&mute=no")
	w.wait("/dead", "1 group with 61 tasks")

	// The discard needs its reason, and empties the group.
	question = post(group, "do=discard&back=/dead")
	w.send(scenario{method: "POST", url: strings.Split(question, "?")[0], body: "reason=&back=/dead", status: 422, header: browser(), must: []string{"A discard needs a reason"}})
	post(strings.Split(question, "?")[0], "reason=no+use&back=/dead")
	w.wait(question, "Finished: discarding 61 tasks")
	w.wait("/dead", "No dead letters")
	w.wait(group, "Nothing is left of this group")
	w.send(scenario{url: "/tasks/62", status: 200, header: browser(), must: []string{"no use"}})

	file := w.send(scenario{url: "/tasks/export.csv?type=fail&state=cancelled", status: 200}).Body.String()
	rows, err := csv.NewReader(strings.NewReader(file)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 123)
}
