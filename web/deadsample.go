package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"reax/models"
	"reax/views"
)

// sampleSize is how many of the latest tasks of a group are read.
type sampleSize struct {
	tasks int // whose parameters are compared
	times int // that the bars count
}

// A group's tasks lie anywhere in the file. When that is not in memory, a page of groups is thousands of reads of the
// disk: the groups that come late on such a page are looked at less closely, until it is asked for again.
var (
	wholeSample = sampleSize{tasks: 200, times: 1000}
	smallSample = sampleSize{tasks: 20, times: 50}
)

const (
	sampleTime   = 60 * time.Millisecond // of a page of groups, after which its samples are small
	sampleHours  = 24
	commonShown  = 3
	commonDepth  = 5
	commonLeaves = 100 // values of one task that are compared
	commonBytes  = 80  // longest value that is compared
)

// groupFacts is what the latest tasks of a group of errors say about it.
type groupFacts struct {
	group      models.ErrorGroup // as it was when they were read
	read       time.Time
	size       sampleSize
	times      []models.Instant // when they ended
	used, most string           // runs, and how many there may be
	forGood    bool             // all were errors that no retry mends
	common     []views.CommonValue
}

const (
	factsKept  = 500 // groups
	factsFresh = 2 * time.Second
)

// groupSamples keeps facts of groups, for many look at the same ones and most do not change. The zero value is ready.
type groupSamples struct {
	mu  sync.Mutex
	all map[string]*groupFacts
}

func (k *groupSamples) get(g *models.ErrorGroup, now time.Time) *groupFacts {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.all[g.Type+"\x00"+g.Fingerprint]
	if f == nil || (f.group != *g || f.size != wholeSample) && now.Sub(f.read).Abs() > factsFresh {
		return nil
	}
	return f
}

func (k *groupSamples) put(f *groupFacts) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil || len(k.all) >= factsKept {
		k.all = map[string]*groupFacts{}
	}
	k.all[f.group.Type+"\x00"+f.group.Fingerprint] = f
}

// deadGroup adds to a group of errors what its latest tasks say about it.
func (s *Server) deadGroup(ctx context.Context, g models.ErrorGroup, seen models.Instant) (views.DeadGroup, error) {
	return s.deadGroupOfSize(ctx, g, seen, wholeSample)
}

func (s *Server) deadGroupOfSize(ctx context.Context, g models.ErrorGroup, seen models.Instant, size sampleSize) (views.DeadGroup, error) {
	v := views.DeadGroup{ErrorGroup: g, Hours: make([]int, sampleHours), Known: sampleHours}
	now := views.ViewerOf(ctx).Now
	v.Quiet = g.Mark.IsMuted(models.At(now))
	if seen != 0 && !v.Quiet {
		v.New = g.FirstAt > seen
		v.Grown = !v.New && g.LastAt > seen
	}
	f := s.samples.get(&g, now)
	if f == nil {
		var err error
		if f, err = s.groupFacts(ctx, g, now, size); err != nil {
			return v, err
		}
		s.samples.put(f)
	}
	v.ForGood = f.forGood
	if f.most != "" {
		v.Attempts = views.T(ctx, "dead.attempts", "k", f.used, "most", f.most)
	}
	for _, c := range f.common {
		c.URL = views.URL(ctx, "/tasks", "type", g.Type, "fingerprint", g.Fingerprint, "param", c.Path+"="+c.Value)
		v.Common = append(v.Common, c)
	}
	countHours(&v, f, models.At(now))
	return v, nil
}

func (s *Server) groupFacts(ctx context.Context, g models.ErrorGroup, now time.Time, size sampleSize) (*groupFacts, error) {
	f := &groupFacts{group: g, read: now, size: size}
	sample, err := s.ledger.ErrorSample(ctx, g.Type, g.Fingerprint, size.tasks)
	if err != nil {
		return nil, err
	}
	f.common = s.commonValues(sample)
	f.forGood = len(sample) > 0
	var used, most []int
	for i := range sample {
		t := &sample[i]
		f.forGood = f.forGood && t.State == models.StateFailed
		used, most = append(used, max(t.Failures, 1)), append(most, t.RunLimit())
	}
	f.used, f.most = span(used), span(most)
	if g.LastAt.Time().After(now.Add(-sampleHours * time.Hour)) { // else its bars are empty
		f.times, err = s.ledger.ErrorTimes(ctx, g.Type, g.Fingerprint, size.times)
	}
	return f, err
}

// countHours counts the ends of tasks by hour, the latest hour last. When the times are not all that there are, the
// hours before the earliest of them are not known.
func countHours(v *views.DeadGroup, f *groupFacts, now models.Instant) {
	oldest := now
	for _, at := range f.times {
		oldest = min(oldest, at)
		ago := int(now.Sub(max(min(at, now), 0)) / time.Hour)
		if ago < sampleHours {
			v.Hours[sampleHours-1-ago]++
			v.Recent++
		}
	}
	if len(f.times) >= f.size.times {
		v.Known = min(int(now.Sub(oldest)/time.Hour)+1, sampleHours)
		v.AtLeast = v.Known < sampleHours || v.Recent == len(f.times)
	}
}

// span is the least and the most of some numbers in words.
func span(n []int) string {
	if len(n) == 0 {
		return ""
	}
	low, high := slices.Min(n), slices.Max(n)
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d–%d", low, high)
}

// commonValues are the values that more than half of the tasks have for a parameter.
func (s *Server) commonValues(sample []models.Task) []views.CommonValue {
	type key struct{ path, value string }
	counts := map[key]int{}
	of := 0
	for i := range sample {
		if sample[i].Params == "" {
			continue
		}
		d := json.NewDecoder(bytes.NewReader([]byte(s.shownParams(&sample[i]))))
		d.UseNumber()
		var params map[string]any
		if d.Decode(&params) != nil {
			continue
		}
		of++
		left := commonLeaves
		leaves(params, "", commonDepth, &left, func(path, value string) { counts[key{path, value}]++ })
	}
	var common []views.CommonValue
	for k, n := range counts {
		if n >= 2 && 2*n > of {
			common = append(common, views.CommonValue{Path: k.path, Value: k.value, N: n, Of: of})
		}
	}
	slices.SortFunc(common, func(a, b views.CommonValue) int {
		return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Path, b.Path))
	})
	return common[:min(len(common), commonShown)]
}

// leaves tells the plain values within an object that a filter can name: not those of lists, nor what is hidden.
func leaves(object map[string]any, at string, depth int, left *int, tell func(path, value string)) {
	for name, v := range object {
		path := at + name
		if name == "" || strings.ContainsAny(name, `."=`) || strings.TrimSpace(name) != name || len(path) > commonBytes || *left <= 0 {
			continue
		}
		text := ""
		switch v := v.(type) {
		case map[string]any:
			if depth > 1 {
				leaves(v, path+".", depth-1, left, tell)
			}
		case string:
			text = v
		case json.Number:
			text = v.String()
		case bool:
			text = fmt.Sprint(v)
		}
		if text == "" || text == hidden || len(text) > commonBytes || strings.TrimSpace(text) != text {
			continue
		}
		*left--
		tell(path, text)
	}
}
