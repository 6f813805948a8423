package web

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestAnOperatorTellsOfAnIncidentUntilItIsOver(t *testing.T) {
	t.Parallel()
	g := statusOf(t, func(c *StatusConfig) {
		c.Groups = append(c.Groups, StatusGroup{Name: "Other", Types: []string{"report"}})
	})
	send := func(name, address string, status int, pairs ...string) string {
		t.Helper()
		w := g.as(name, scenario{url: address, method: "POST", body: form(pairs...), header: browser(), status: status})
		return w.Body.String() + w.Header().Get("Location")
	}
	reads := func(must, mustNot string) {
		t.Helper()
		sc := scenario{url: "/status", status: 200, must: []string{must}}
		if mustNot != "" {
			sc.mustNot = []string{mustNot}
		}
		g.as("", sc)
	}
	reads("Everything is working", "")
	g.as("op", scenario{url: "/incidents", header: browser(), status: 200, must: []string{"No incidents", "Mail &amp; more", `href="/status"`, `aria-current="page"`}})
	g.as("eye", scenario{url: "/", header: browser(), status: 200, mustNot: []string{"/incidents"}})
	send("eye", "/incidents", 403, "kind", "incident", "title", "x")

	text := send("op", "/incidents", 422, "kind", "incident", "title", "", "severity", "minor", "state", "investigating", "group", "Other", "text", "kept")
	require.Contains(t, text, "incident-title-error")
	require.Contains(t, text, "kept")
	require.Contains(t, text, `value="Other" checked`)
	require.Contains(t, send("op", "/incidents", 422, "kind", "maintenance", "title", "x", "begins", "soon", "ends", "2000-01-01T00:00"), "This is not a time.")
	require.Contains(t, send("op", "/incidents", 303, "kind", "incident", "title", "Mail is late", "severity", "minor", "state", "investigating",
		"group", "Other", "group", "hostile", "text", "one\r\ntwo <script>"), "/incidents/1")
	made, err := g.store.Incident(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, []string{"Other"}, made.Affected.Names(), "only groups that there are")
	require.Equal(t, "one\ntwo <script>", made.Updates[0].Text)
	require.Equal(t, "op", made.CreatedBy)
	reads("There is an incident", "<script")

	send("op", "/incidents/1", 422, "state", "investigating", "text", "")
	send("op", "/incidents/1/edit", 303, "title", "Mail is very late", "severity", "critical", "group", "Mail & more")
	g.as("op", scenario{url: "/incidents/1", header: browser(), status: 200, must: []string{"Mail is very late", "Critical", "<b>Edited</b>"}, mustNot: []string{"Begins</span> <del"}})
	reads("Mail is very late", "")
	send("op", "/incidents/1", 303, "state", "resolved", "text", "All is well")
	reads("Everything is working", "")
	reads("All is well", "")

	send("op", "/incidents", 303, "kind", "maintenance", "title", "New disk", "begins", clockField(time.UTC, models.At(time.Now().Add(48*time.Hour))),
		"ends", clockField(time.UTC, models.At(time.Now().Add(50*time.Hour))))
	reads("New disk", "")
}

func TestNoIncidentIsThereThatIsNot(t *testing.T) {
	t.Parallel()
	g := statusOf(t, nil)
	for _, address := range []string{"/incidents/9", "/incidents/x", "/incidents/0", "/incidents/-1", "/incidents/99999999999999999999"} {
		g.as("op", scenario{url: address, header: browser(), status: http.StatusNotFound})
		g.as("op", scenario{url: address, method: "POST", body: "state=resolved", header: browser(), status: http.StatusNotFound})
	}
	for range models.MaxOpenIncidents {
		g.as("op", scenario{url: "/incidents", method: "POST", body: form("kind", "incident", "title", "x", "severity", "minor", "state", "investigating"), header: browser(), status: 303})
	}
	w := g.as("op", scenario{url: "/incidents", method: "POST", body: form("kind", "incident", "title", "x", "severity", "minor", "state", "investigating"), header: browser(), status: 422})
	require.Contains(t, w.Body.String(), "There are too many already")
}
