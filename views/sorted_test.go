package views

import (
	"bytes"
	"testing"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reax/models"
)

// sortedTasks is the list in an order, of which not all that match are sorted.
func sortedTasks(o models.Order) Tasks {
	page := someTasks()
	page.Order, page.Partial, page.Among, page.Searched, page.Unsorted = o, true, 5000, "09:41:00", "/reax/tasks?state=dead"
	page.Heads = map[models.Order]templ.SafeURL{
		models.ByChanged: "/reax/tasks?sort=-changed", models.ByPriority: "/reax/tasks?sort=priority", models.ByDuration: "/reax/tasks?sort=duration",
	}
	page.Rows[2].FinishedAt = noon.Add(83_000_000_000)
	return page
}

func TestASortedListShowsItsOrder(t *testing.T) {
	chinese := func(v *Viewer) { v.Locale = Chinese }
	for name, c := range map[string]struct {
		change func(*Viewer)
		order  models.Order
		state  models.State
	}{
		"tasks-by-duration":   {nil, "-duration", ""},
		"tasks-by-elapsed-zh": {chinese, "-duration", models.StateRunning},
	} {
		t.Run(name, func(t *testing.T) {
			page := sortedTasks(c.order)
			page.State, page.Rows = c.state, page.Rows[2:]
			var part bytes.Buffer
			require.NoError(t, templ.RenderFragments(viewer(t, c.change), &part, TasksPage(page), "tasks"))
			requireTame(t, part.String())
			golden(t, name, part.String())
		})
	}
}

func TestTheColumnOfTheOrderIsLeftOutNowhere(t *testing.T) {
	for _, o := range models.Orders {
		for _, state := range append([]models.State{""}, models.States...) {
			page := sortedTasks(o)
			page.State = state
			sorted := 0
			for _, c := range page.columns(viewer(t, nil)) {
				if c.Sorted != "" {
					sorted++
					require.NotRegexp(t, "opt|needs", c.Class)
					require.NotEmpty(t, c.Sort)
					require.Equal(t, o.IsDown(), c.glyph() == "↓")
				}
			}
			require.Equal(t, 1, sorted, "%s, %s", o, state)
		}
	}
}
