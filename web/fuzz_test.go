package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	f.Fuzz(func(t *testing.T, text string) {
		id, err := decodeCursor(text)
		if err == nil {
			require.Positive(t, id)
			require.Equal(t, text, encodeCursor(id), "one id has one cursor")
		}
	})
}

func FuzzListQuery(f *testing.F) {
	for _, seed := range []string{
		"state=dead,failed&type=any&q=x&tag=t&limit=5", "from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00%2B25:00", "cursor=MQ",
		"state=%00&q=%ff", "limit=1e400", "a=b;c=d", "%zz=1", "state[]=dead", "trace_id=00000000000000000000000000000000",
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
