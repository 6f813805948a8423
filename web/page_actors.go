package web

import (
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/views"
)

const (
	stuckAfter   = time.Second // with one message; only workers may take longer
	maxStuckList = 20
	maxNodeBytes = 500
)

// actorsPage is the live tree. It is read from outside of the actors, so that it shows one that hangs.
func (s *Server) actorsPage(c echo.Context) error {
	page := views.Actors{Node: c.QueryParam("node")}
	if len(page.Node) > maxNodeBytes {
		page.Node = ""
	}
	rows := s.runtime.Tree()
	children := map[string][]int{}
	known := map[string]bool{}
	for i := range rows {
		known[rows[i].ID] = true
	}
	for i := range rows {
		parent := rows[i].Parent
		if !known[parent] || parent == rows[i].ID {
			parent = "" // it has just gone, and what it supervises is going
		}
		children[parent] = append(children[parent], i)
	}
	var build func(i, depth int) views.Actor
	build = func(i, depth int) views.Actor {
		a := actorView(&rows[i])
		if depth < maxActorDepth {
			for _, j := range children[a.ID] {
				a.Children = append(a.Children, build(j, depth+1))
			}
		}
		page.Total++
		if a.Busy > 0 {
			page.Busy++
		}
		if a.Stuck && len(page.Stuck) < maxStuckList {
			page.Stuck = append(page.Stuck, a.ID)
		}
		if a.ID == page.Node {
			page.Chosen = &a
		}
		return a
	}
	for _, i := range children[""] {
		page.Roots = append(page.Roots, build(i, 0))
	}
	return s.render(c, http.StatusOK, views.ActorsPage(page))
}

// maxActorDepth is far deeper than the tree is.
const maxActorDepth = 10

func actorView(r *actors.TreeRow) views.Actor {
	a := views.Actor{
		ID: r.ID, Kind: r.Kind, Doing: r.Doing, Busy: r.Busy, Mailbox: r.Mailbox, Processed: r.Processed, Restarts: r.Restarts,
		Panic: r.LastPanic, Stack: r.LastStack, PanicAt: models.At(r.PanicAt), Stuck: r.Busy > stuckAfter && r.Kind != "worker",
	}
	_, _ = fmt.Sscanf(r.Doing, "task %d,", &a.TaskID) // as a run and a task that is handed over describe themselves
	return a
}
