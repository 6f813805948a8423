// Package views turns view models into HTML. It knows no database and no actor.
package views

import (
	"context"
	"net/url"
	"time"

	"github.com/a-h/templ"

	"reax/models"
	"reax/static"
)

// Viewer is who looks at a page, and how they want it. It travels in the context, so that every component can speak
// their language and tell the time of their zone.
type Viewer struct {
	Locale    Locale
	Zone      *time.Location
	User      string      // who is signed in; empty when nobody has to be
	Role      models.Role // what they may do; empty is nothing, and they see no rail
	Account   bool        // User has an account here, with a page and a way to sign out
	External  bool        // another program keeps the accounts
	Open      bool        // there are no accounts: whoever is on this machine may do everything
	Theme     string      // light or dark; empty follows the system
	Density   string      // compact; empty is comfortable
	Rows      int         // of a page of a list, one of PageSizes; 0 is what the list likes best
	Base      string      // path below which reax is mounted
	Here      string      // path and query of the page, for forms that return to it
	Version   string
	RequestID string
	Now       time.Time
	Flash     *Flash
	Counts    map[models.State]int64 // all tasks by state, for the rail; nil when the database did not answer
	NewDead   bool                   // something died since they looked at the dead letters
}

// Flash is what the last action did, shown once.
type Flash struct {
	Tone string // ok, warn or bad
	Text string
	URL  string // a page about it, below the base path; may be empty
}

// May reports whether the viewer has at least a role. Pages leave out, or show as off, what its role may not do; the
// server checks it all the same.
func May(ctx context.Context, need models.Role) bool { return ViewerOf(ctx).Role.May(need) }

type viewerKey struct{}

var stranger = &Viewer{Locale: English, Zone: time.UTC}

// WithViewer gives the pages that are rendered with the context their viewer.
func WithViewer(ctx context.Context, v *Viewer) context.Context {
	return context.WithValue(ctx, viewerKey{}, v)
}

// ViewerOf is the viewer of the context: English, UTC and the root when there is none.
func ViewerOf(ctx context.Context) *Viewer {
	if v, ok := ctx.Value(viewerKey{}).(*Viewer); ok {
		return v
	}
	return stranger
}

// T says a message of the catalogue; see Locale.Text.
func T(ctx context.Context, key string, pairs ...any) string {
	return ViewerOf(ctx).Locale.Text(key, pairs...)
}

// URL is the address of a path of reax, with a query of names and values; pairs with an empty value are left out. Names
// from outside go into path through Segment.
func URL(ctx context.Context, path string, pairs ...string) templ.SafeURL {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Add(pairs[i], pairs[i+1])
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return templ.SafeURL(ViewerOf(ctx).Base + path)
}

// Segment is a name as one part of a path.
func Segment(name string) string { return url.PathEscape(name) }

func asset(ctx context.Context, name string) string { return ViewerOf(ctx).Base + static.Path(name) }
