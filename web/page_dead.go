package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reax/models"
	"reax/views"
)

const (
	groupsLooked = 1000 // the latest groups that the page knows of
	groupsShown  = 15   // on one page
)

// deadQuery is the query of the dead letters, as the address has it.
type deadQuery struct {
	byType bool
	typ, q string
	page   int // from 1
}

func readDeadQuery(v url.Values) deadQuery {
	q := deadQuery{byType: v.Get("view") == "types", typ: strings.TrimSpace(v.Get("type")), q: strings.TrimSpace(v.Get("q")), page: 1}
	q.typ, q.q = models.CutText(q.typ, maxSearchBytes), models.CutText(q.q, maxSearchBytes)
	if n, err := strconv.Atoi(v.Get("page")); err == nil && n > 1 && n <= groupsLooked/groupsShown {
		q.page = n
	}
	return q
}

func (q deadQuery) url(ctx context.Context, page int) string {
	number := ""
	if page > 1 {
		number = strconv.Itoa(page)
	}
	return string(views.URL(ctx, "/dead", "type", q.typ, "q", q.q, "page", number))
}

// fits reports whether a group is asked for.
func (q deadQuery) fits(g *models.ErrorGroup) bool {
	return (q.typ == "" || g.Type == q.typ) &&
		(q.q == "" || strings.Contains(strings.ToLower(g.Mark.Name+"\n"+g.Message), strings.ToLower(q.q)) || g.Kind == q.q || g.Fingerprint == q.q)
}

// deadPage is what ended failed or dead, grouped by its error.
func (s *Server) deadPage(c echo.Context) error {
	ctx := c.Request().Context()
	q := readDeadQuery(c.QueryParams())
	before := s.visitDead(c, views.ViewerOf(ctx).Now)
	page := views.Dead{
		Filtered: q.typ != "" || q.q != "", Back: q.url(ctx, q.page), Types: s.typeNames(),
		Tabs: []views.Tab{
			{Text: views.T(ctx, "dead.by_error"), URL: views.URL(ctx, "/dead"), Current: !q.byType},
			{Text: views.T(ctx, "dead.by_type"), URL: views.URL(ctx, "/dead", "view", "types"), Current: q.byType},
		},
	}
	var err error
	if q.byType {
		page.ByType, err = s.deadMatrix(ctx)
	} else {
		err = s.deadGroups(ctx, q, before, &page)
	}
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.DeadPage(page))
}

func (s *Server) deadGroups(ctx context.Context, q deadQuery, before models.Instant, page *views.Dead) error {
	text := strconv.Itoa(maxSearchBytes)
	page.Fields = []views.Field{
		{ID: "f-type", Name: "type", Kind: "text", Label: views.T(ctx, "tasks.type"), Value: q.typ, List: "types", MaxLen: text},
		{ID: "f-q", Name: "q", Kind: "text", Label: views.T(ctx, "dead.text"), Value: q.q, MaxLen: text},
	}
	all, err := s.ledger.ErrorGroups(ctx, groupsLooked+1)
	if err != nil {
		return err
	}
	if len(all) > groupsLooked {
		all, page.Capped = all[:groupsLooked], groupsLooked
	}
	var fitting, muted []models.ErrorGroup
	now := models.At(views.ViewerOf(ctx).Now)
	for i := range all {
		switch {
		case !q.fits(&all[i]):
		case all[i].Mark.IsMuted(now):
			muted = append(muted, all[i])
		default:
			fitting = append(fitting, all[i])
			page.Tasks += all[i].N
		}
	}
	page.Groups = len(fitting)
	from := min((q.page-1)*groupsShown, len(fitting))
	to := min(from+groupsShown, len(fitting))
	if page.Rows, err = s.deadRows(ctx, fitting[from:to], before); err != nil {
		return err
	}
	if q.page > 1 {
		page.Newest = safe(q.url(ctx, 1))
	}
	if to < len(fitting) {
		page.Older = safe(q.url(ctx, q.page+1))
		return nil
	}
	page.MutedAll = len(muted)
	page.Muted, err = s.deadRows(ctx, muted[:min(len(muted), groupsShown)], before)
	return err
}

// deadRows are the groups of one page. Those that come late on one that takes long are looked at less closely.
func (s *Server) deadRows(ctx context.Context, groups []models.ErrorGroup, before models.Instant) (rows []views.DeadGroup, err error) {
	began := time.Now()
	for _, g := range groups {
		size := wholeSample
		if time.Since(began) > sampleTime {
			size = smallSample
		}
		row, err := s.deadGroupOfSize(ctx, g, before, size)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}
