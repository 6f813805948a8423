package web

import (
	"html"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
)

var (
	linksOf   = regexp.MustCompile(`(?:href|src|data-events)="([^"]*)"`)
	postForms = regexp.MustCompile(`<form[^>]*method="post"[^>]*action="([^"]*)"|formaction="([^"]*)"`)
	numberOf  = regexp.MustCompile(`\d+`)
)

// TestAMountedServerStaysBelowItsPath walks from the first page to every page, file and form of a server that is one
// handler among others of another program.
func TestAMountedServerStaysBelowItsPath(t *testing.T) {
	t.Parallel()
	const base = "/ops/reax"
	f := newFake(t)
	for _, state := range models.States {
		f.add(models.Task{State: state, Error: "went wrong"})
	}
	f.counts = []models.Count{{Type: "any", State: models.StateDead, N: 1}}
	nightly := models.Schedule{ID: 1, Name: "nightly", Task: "any", Cron: "0 7 * * *", Timezone: "UTC", Version: 1, Owner: models.OwnerAPI}
	f.schedules = []models.Schedule{nightly}
	mux := http.NewServeMux()
	mux.Handle(base+"/", New(Config{Runtime: f, Ledger: f, Logger: slog.New(slog.DiscardHandler), BasePath: base}).Handler())
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s is below another path", r.URL) })

	seen, shapes, forms := map[string]bool{}, map[string]bool{}, map[string]string{}
	for queue := []string{base + "/"}; len(queue) > 0; queue = queue[1:] {
		address := queue[0]
		path, query, _ := strings.Cut(address, "?")
		shape := numberOf.ReplaceAllString(path, "0")
		if seen[address] || shapes[shape] && strings.Count(query, "=") > 0 {
			continue
		}
		seen[address], shapes[shape] = true, true
		if strings.HasSuffix(path, "/events") { // a stream that would not end
			continue
		}
		w := send(mux, scenario{url: address, header: browser()}.request())
		require.Less(t, w.Code, 400, "a link leads to %s", address)
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			require.NotEmpty(t, w.Body.String(), address)
			continue
		}
		for _, m := range linksOf.FindAllStringSubmatch(w.Body.String(), -1) {
			link := html.UnescapeString(m[1])
			if strings.HasPrefix(link, "#") {
				continue
			}
			require.True(t, strings.HasPrefix(link, base+"/"), "%s has %s", address, link)
			queue = append(queue, link)
		}
		for _, m := range postForms.FindAllStringSubmatch(w.Body.String(), -1) {
			forms[html.UnescapeString(m[1]+m[2])] = address
		}
	}
	for _, page := range []string{"/tasks", "/tasks/1", "/dead", "/schedules/nightly", "/schedules/new", "/types/any", "/actors", "/enqueue/any"} {
		require.Contains(t, seen, base+page, "no link leads to it")
	}
	for action, page := range forms {
		require.True(t, strings.HasPrefix(action, base+"/"), "%s has a form for %s", page, action)
		f.schedules = []models.Schedule{nightly} // another form may have deleted it
		w := send(mux, scenario{method: http.MethodPost, url: action, body: "a=b", header: browser()}.request())
		require.NotContains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusInternalServerError}, w.Code, "the form of %s for %s", page, action)
		if to := w.Header().Get("Location"); to != "" {
			require.True(t, strings.HasPrefix(to, base+"/"), "%s leads to %s", action, to)
		}
	}
	require.Greater(t, len(forms), 5)
}
