package web

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"90s", "2m", "1h30m", "90", "1.5", "-1s", "1e400", "NaN", "Inf", "0x1p-2", "1_000", "", "99999999999999999999", "9223372036854775807ns"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDuration(text)
		if err != nil {
			require.Zero(t, d)
			return
		}
		require.GreaterOrEqual(t, d, time.Duration(0))
		require.LessOrEqual(t, d, maxDuration)
		if shown := durationText(d); shown != nil {
			again, err := parseDuration(*shown)
			require.NoError(t, err)
			require.Equal(t, d, again, "what is shown can be sent")
		}
	})
}

func FuzzCursor(f *testing.F) {
	for _, seed := range []string{encodeCursor(1), encodeCursor(1 << 62), "MA", "LTE", "MDE", "", "=", "MQ=="} {
		f.Add(seed)
	}
	for _, o := range models.Orders {
		f.Add(encodePlace(o, models.Place{Rank: -5, ID: 7, High: 8, At: 1}))
	}
	for _, raw := range []string{"changed.1.2.3.4", "changed.1.2.3.4.5.6", "changed.+1.2.0.4.5", "changed.1.9223372036854775808.0.4.5", "created.1.2.0.4.5", "-priority.01.2.0.4.5"} {
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(raw)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := decodeCursor(text)
		if err == nil {
			require.Positive(t, id)
			require.Equal(t, text, encodeCursor(id), "one id has one cursor")
		}
		orders := 0
		for _, o := range append([]models.Order{models.NewestFirst}, models.Orders...) {
			filter := models.Filter{Order: o}
			if readCursor(text, &filter) != nil {
				require.Equal(t, models.Filter{Order: o}, filter)
				continue
			}
			orders++
			page := models.Page{Next: filter.Before}
			if o != models.NewestFirst {
				page.After = &filter.After
				require.Positive(t, filter.After.ID)
				require.Greater(t, filter.After.High, filter.After.ID)
				require.GreaterOrEqual(t, filter.After.Low, int64(0))
				require.Positive(t, filter.After.At)
			}
			require.Equal(t, text, nextCursor(filter, &page), "one place has one cursor")
		}
		require.LessOrEqual(t, orders, 1, "a cursor is of one order")
	})
}

func FuzzListQuery(f *testing.F) {
	for _, seed := range []string{
		"state=dead,failed&type=any&q=x&tag=t&limit=5", "from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00%2B25:00", "cursor=MQ",
		"state=%00&q=%ff", "limit=1e400", "sort=-duration&cursor=MQ", "sort=%00", "sort=", "a=b;c=d", "%zz=1", "state[]=dead", "trace_id=00000000000000000000000000000000",
	} {
		f.Add(seed)
	}
	h := newServer(f, newFake(f)).Handler()
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, tasksURL, nil)
		r.RemoteAddr = "127.0.0.1:50000"
		r.Host, r.URL = "localhost", &url.URL{Path: tasksURL, RawQuery: query}
		w := send(h, r)
		if w.Code != http.StatusOK {
			require.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body.String())
			requireProblem(t, w)
		}
	})
}

func FuzzEnqueueBody(f *testing.F) {
	for _, seed := range []string{
		`{"type":"any"}`, `{"type":"any","delay":"1m","priority":1}`, `{"type":"any","run_at":"2026-01-01T00:00:00Z","tags":["a"]}`,
		`{"type":"any","timeout":-1}`, `{"type":"any","params":{"a":[1e5,null,"\u00e9"]}}`, `[`, `{"type":1,"tags":1,"delay":{},"run_at":[]}`,
	} {
		f.Add(seed)
	}
	store := newFake(f)
	h := newServer(f, store).Handler()
	f.Fuzz(func(t *testing.T, body string) {
		before := store.stored()
		w := send(h, scenario{method: http.MethodPost, url: tasksURL, body: body}.request())
		require.Less(t, w.Code, 500, w.Body.String())
		if w.Code >= 400 {
			requireProblem(t, w)
			require.Equal(t, before, store.stored())
		}
	})
}
