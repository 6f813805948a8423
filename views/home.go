// Package views turns view models into HTML. It knows no database and no actor.
package views

import (
	"context"
	"io"
	"strconv"

	"reax/models"
)

// Home is the page at the root.
type Home struct {
	Locale     Locale
	Base       string // path below which reax is mounted
	Stylesheet string
	Version    string
	Status     string
	Reasons    []string
	Counts     []StateCount // none when the database did not answer
}

// StateCount is how many tasks are in a state.
type StateCount struct {
	State models.State
	N     int64
}

// Render writes the page.
func (h Home) Render(ctx context.Context, w io.Writer) error { return homePage(h).Render(ctx, w) }

func (c StateCount) text() string { return strconv.FormatInt(c.N, 10) }
