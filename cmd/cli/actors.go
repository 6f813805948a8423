package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

type actorsCmd struct {
	serverFlags
}

// actorRow is what the commands read of one actor.
type actorRow struct {
	ID        string  `json:"id"`
	Depth     int     `json:"depth"`
	Mailbox   int     `json:"mailbox"`
	Processed int64   `json:"processed"`
	Restarts  int64   `json:"restarts"`
	Doing     string  `json:"doing"`
	BusyMS    float64 `json:"busy_ms"`
	LastPanic string  `json:"last_panic"`
}

func (c *actorsCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	answer, err := api.get(ctx, apiPath+"/actors", nil)
	if err != nil || c.JSON {
		return c.printed(a, answer, err)
	}
	var page struct {
		Actors []actorRow `json:"actors"`
	}
	if err := read(answer, &page); err != nil {
		return err
	}
	var rows [][]string
	for _, r := range page.Actors {
		name := strings.Repeat("  ", min(max(r.Depth, 0), 10)) + r.ID[strings.LastIndexByte(r.ID, '/')+1:]
		doing := r.Doing
		if r.BusyMS > 0 {
			doing = fmt.Sprintf("%s (%.1f s)", doing, r.BusyMS/1000)
		}
		if r.LastPanic != "" {
			doing += " last panic: " + r.LastPanic
		}
		rows = append(rows, []string{name, strconv.Itoa(r.Mailbox), strconv.FormatInt(r.Processed, 10), strconv.FormatInt(r.Restarts, 10),
			cut(cleanLine(strings.TrimSpace(doing)), noteWidth)})
	}
	return table(a.stdout, []string{"ACTOR", "MAILBOX", "HANDLED", "RESTARTS", "DOING"}, rows)
}
