package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var acceptedID = regexp.MustCompile(`accepted task (\d+) `)

// accepted is the id in what enqueue printed.
func accepted(t *testing.T, printed string) int64 {
	t.Helper()
	found := acceptedID.FindStringSubmatch(printed)
	require.NotNil(t, found, "%s", printed)
	id, err := strconv.ParseInt(found[1], 10, 64)
	require.NoError(t, err)
	return id
}

func TestEveryCommandWorksOverTheSocketWithoutAToken(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROBE_BACKOFF=1h,1h", "PROBE_WORKERS=2")
	none := p.reax(t, "list")
	require.Equal(t, 1, none.code)
	require.Contains(t, none.stderr, "no server is running")
	require.Equal(t, 2, p.reax(t, "explode").code)

	s := p.start(t)
	info, err := os.Stat(filepath.Join(p.dir, "reax.sock"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	str := func(id int64) string { return strconv.FormatInt(id, 10) }

	// enqueue
	printed := p.ok(t, "enqueue", "P.ret", "-p", "text=done = 'duly' €", "--wait", "--tag", "mine")
	ret := accepted(t, printed)
	require.Contains(t, printed, `is success: "done = 'duly' €"`)
	bad := p.reax(t, "enqueue", "P.perm", "--wait")
	require.Equal(t, 1, bad.code)
	require.Contains(t, bad.stderr, "is failed: it will never work")
	refused := p.reax(t, "enqueue", "P.sleep", "--params", `{"ms":-1}`)
	require.Equal(t, 1, refused.code)
	require.Contains(t, refused.stderr, "/params/ms")
	unknown := p.reax(t, "enqueue", "P.never")
	require.Equal(t, 1, unknown.code)
	require.Contains(t, unknown.stderr, "P.never")
	dead := accepted(t, p.reax(t, "enqueue", "P.fail", "-p", "n=1", "--max-retries", "0", "--wait").stdout)

	// list, show, types, status, actors
	listed := p.ok(t, "list", "--state", "success", "--tag", "mine")
	require.Contains(t, listed, "P.ret")
	require.NotContains(t, listed, "P.perm")
	var page struct{ Tasks []task }
	require.NoError(t, json.Unmarshal([]byte(p.ok(t, "list", "--json")), &page))
	require.Len(t, page.Tasks, 3)
	require.Contains(t, p.ok(t, "show", str(dead)), "failure 1")
	require.Equal(t, 1, p.reax(t, "show", "999").code)
	require.Contains(t, p.ok(t, "types"), "P.stubborn")
	require.Contains(t, p.ok(t, "status"), "1 success")
	require.Contains(t, p.ok(t, "actors"), "journal")

	// retry, discard, repeat
	p.ok(t, "retry", str(dead))
	require.Equal(t, 2, s.awaitState(t, dead, "success").Attempt)
	again := p.reax(t, "retry", str(dead))
	require.Equal(t, 1, again.code, "a success is not retried")
	require.Equal(t, 2, p.reax(t, "discard", str(ret)).code, "a discard says why")
	repeated := accepted(t, p.ok(t, "repeat", str(ret), "--wait"))
	require.NotEqual(t, ret, repeated)

	// pause, resume, resize, cancel
	p.ok(t, "pause", "P.log", "--reason", "for the test")
	waiting := accepted(t, p.ok(t, "enqueue", "P.log"))
	require.Contains(t, p.ok(t, "types"), "paused")
	p.ok(t, "enqueue", "P.ret", "--wait")
	require.Empty(t, p.startsOf(t, waiting))
	p.ok(t, "resume", "P.log")
	s.awaitState(t, waiting, "success")
	p.ok(t, "resize", "P.sleep", "3")
	var sleepers []int64
	for range 3 {
		sleepers = append(sleepers, accepted(t, p.ok(t, "enqueue", "P.sleep", "-p", "ms=600000")))
	}
	for _, id := range sleepers {
		awaitStart(t, p, id)
		p.ok(t, "cancel", str(id))
		s.awaitState(t, id, "cancelled")
	}

	// logs -f ends with its task.
	talk := accepted(t, p.ok(t, "enqueue", "P.talk", "-p", "lines=250", "--delay", "1s"))
	lines := p.ok(t, "logs", "-f", str(talk))
	require.Equal(t, 250, strings.Count(lines, "line number="))
	require.Contains(t, lines, "number=250")

	s.stop(t)
	p.requireBooks(t, append(sleepers, ret, dead, repeated, waiting, talk))
}

func TestASecondServerOnOneDatabaseIsRefusedAndNamesTheFirst(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	second := p.reax(t, "serve", "--addr", "127.0.0.1:0")
	require.Equal(t, 1, second.code)
	require.Contains(t, second.stderr, fmt.Sprintf("is in use by process %d ", s.pid()))
	require.NotContains(t, second.stdout, "listening")
	require.Equal(t, "ok", s.health(t).Status)
	require.Contains(t, p.ok(t, "status"), "ok", "the socket still leads to the first")
	s.kill(t)
	p.start(t).stop(t) // a dead one holds nothing
}

func TestAnAddressThatOthersCouldReachIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "127.0.0.1", "127.0.0.1:99999"} {
		got := p.reax(t, "serve", "--addr", addr)
		require.Equal(t, 1, got.code, "%s: %s%s", addr, got.stdout, got.stderr)
		require.NotEmpty(t, got.stderr)
		require.NotContains(t, got.stdout, "listening")
	}
	require.NoFileExists(t, p.db)
}

func TestAConfigurationWithFaultsIsRefusedWithTheirLines(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.config(t, "addr: 127.0.0.1:0\ntasks:\n  a.b:\n    command: [true]\n    retires: 3\n  c.d:\n    command: [true]\n    priority: 11\n")
	for _, args := range [][]string{{"check"}, {"serve"}} {
		got := p.reax(t, args...)
		require.Equal(t, 1, got.code)
		require.Contains(t, got.stderr, "reax.yaml:5")
		require.Contains(t, got.stderr, "max_retries", "what was meant")
		require.Contains(t, got.stderr, "reax.yaml:8")
	}
	require.NoFileExists(t, p.db)
}

func TestABackupUnderLoadIsAWholeDatabase(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	load := startLoad(t, 200, func(int64) []byte { return body("P.log", fields{}, nil) })
	load.target.Store(s.api)
	until(t, patience, func() string {
		if load.count() > 100 {
			return ""
		}
		return "the load has not begun"
	})
	load.mu.Lock()
	before := append([]int64(nil), load.accepted...)
	load.mu.Unlock()
	copied := filepath.Join(t.TempDir(), "copy.db")
	p.ok(t, "backup", copied)
	count := load.count()
	until(t, patience, func() string {
		if load.count() > count {
			return ""
		}
		return "nothing was accepted after the backup"
	})
	require.Equal(t, 1, p.reax(t, "backup", copied).code, "a backup overwrites nothing")
	load.end()
	require.Empty(t, load.other)
	s.awaitQuiet(t)
	s.stop(t)
	all := p.requireBooks(t, load.accepted)

	// The copy takes the place of a database in another folder.
	restored := newPlace(t)
	require.NoError(t, os.Rename(copied, restored.db))
	r := restored.start(t)
	r.awaitQuiet(t)
	requireSameCounts(t, r, restored)
	r.enqueue(t, "P.log", fields{}, nil)
	r.awaitQuiet(t)
	r.stop(t)
	rows := rowsOf(t, restored.database(t))
	for _, id := range before {
		require.Contains(t, rows, id, "a task was accepted before the backup and is not in it")
		require.Equal(t, "success", rows[id].state)
	}
	require.LessOrEqual(t, len(rows), len(all)+1)
}
