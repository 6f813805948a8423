package web

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reax/models"
	"reax/views"
)

const (
	seenCookie = "reax_seen"
	seenAge    = 365 * 24 * time.Hour
	// oneVisit is how long somebody may be away from the dead letters for it to be the same visit.
	oneVisit = 30 * time.Minute
)

// visit is when somebody looked at the dead letters: now, as it were, and at the end of the visit before.
type visit struct{ latest, before models.Instant }

func readVisit(c echo.Context) visit {
	latest, before, _ := strings.Cut(cookieValue(c, seenCookie), ".")
	number := func(text string) models.Instant {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return 0
		}
		return models.Instant(n)
	}
	return visit{number(latest), number(before)}
}

// visitDead keeps that somebody looks at the dead letters now, and gives when they did before; 0 when they never did.
func (s *Server) visitDead(c echo.Context, now time.Time) models.Instant {
	v := readVisit(c)
	if v.latest != 0 && now.Sub(v.latest.Time()) > oneVisit {
		v.before = v.latest
	}
	v.latest = models.At(now)
	setCookie(c, s.cookiePath(), seenCookie, strconv.FormatInt(int64(v.latest), 10)+"."+strconv.FormatInt(int64(v.before), 10), seenAge)
	views.ViewerOf(c.Request().Context()).NewDead = false
	return v.before
}

// newDead reports whether something ended failed or dead since somebody looked at the dead letters, other than by an error
// that is muted.
func (s *Server) newDead(ctx context.Context, c echo.Context, counts map[models.State]int64) bool {
	if counts[models.StateFailed]+counts[models.StateDead] == 0 {
		return false
	}
	latest, err := s.ledger.LatestFailure(ctx, models.At(time.Now()))
	return err == nil && latest > readVisit(c).latest
}
