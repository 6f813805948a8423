package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"reax/models"
)

// request is one task that a round asks for.
type request struct {
	body  []byte
	pause time.Duration // before it is sent

	cancelled bool          // by a person, once it is accepted
	later     time.Duration // and so long after
}

// kinds are the tasks of a round, each as often as its weight says.
var kinds = []struct {
	weight int
	typ    string
	params string
	more   map[string]any
}{
	{20, "P.log", `{}`, nil},
	{8, "P.sleep", `{"ms": 30}`, map[string]any{"priority": 1}},
	{8, "P.sleep", `{"ms": 150}`, map[string]any{"priority": 9}},
	{8, "P.log", `{}`, map[string]any{"delay": "200ms"}},
	{6, "P.fail", `{"n": 1}`, nil},
	{3, "P.fail", `{"n": -1}`, map[string]any{"max_retries": 1}},
	{3, "P.perm", `{}`, nil},
	{3, "P.panic", `{}`, map[string]any{"max_retries": 1}},
	{2, "P.goexit", `{}`, map[string]any{"max_retries": 1}},
	{3, "P.leak", `{"n": 20}`, nil},
	{2, "P.stubborn", `{"ms": 250}`, map[string]any{"timeout": "50ms", "max_retries": 1}},
	{4, "C.log", `{}`, nil},
	{3, "C.forks", `{}`, nil},
	{4, "H.ok", `{}`, nil},
	{2, "H.hang", `{}`, nil},
	{3, "H.reset", `{}`, nil},
	{2, "H.slow", `{}`, nil},
	{1, "H.endless", `{}`, nil},
}

// draw makes the requests of a round.
func draw(random *rand.Rand, n int) (all []request) {
	var bag []int
	for i, k := range kinds {
		for range k.weight {
			bag = append(bag, i)
		}
	}
	add := func(typ, params string, more map[string]any) {
		fields := map[string]any{"type": typ, "params": json.RawMessage(params), "unique_key": fmt.Sprintf("request %d", len(all))}
		maps.Copy(fields, more)
		body, err := json.Marshal(fields)
		if err != nil {
			panic(err) // the fields stand above
		}
		all = append(all, request{body: body, pause: time.Duration(random.IntN(12)) * time.Millisecond})
	}
	for range n {
		k := kinds[bag[random.IntN(len(bag))]]
		add(k.typ, k.params, k.more)
	}
	// The rare ones, which cost a round seconds.
	switch random.IntN(12) {
	case 0:
		add("P.exit", `{}`, nil)
	case 1:
		add("P.kill", `{}`, nil)
	case 2:
		add("C.deaf", `{}`, nil)
	case 3:
		add("P.stubborn", `{"ms": 5600}`, map[string]any{"timeout": "50ms", "max_retries": 0})
	}
	random.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	return all
}

// disturb draws which of them a person cancels, and when.
func disturb(all []request, random *rand.Rand) {
	for i := range all {
		all[i].cancelled, all[i].later = random.IntN(12) == 0, time.Duration(random.IntN(300))*time.Millisecond
	}
}

// load sends requests until each of them is accepted, whoever serves at the time.
type load struct {
	round *round
	http  http.Client

	mu        sync.Mutex
	accepted  map[int64]bool
	cancelled map[int64]bool // the server has said that they are
	wrong     []string
}

const senders = 4

// send gives back when all are accepted or ctx has ended.
func (l *load) send(ctx context.Context, all []request) {
	queue := make(chan request)
	var group sync.WaitGroup
	for range senders {
		group.Go(func() {
			for r := range queue {
				l.insist(ctx, r)
			}
		})
	}
	for _, r := range all {
		queue <- r
	}
	close(queue)
	group.Wait()
	l.http.CloseIdleConnections()
}

func (l *load) insist(ctx context.Context, r request) {
	for pause := r.pause; ; pause = 4 * look {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		base, _ := l.round.base.Load().(string)
		if base == "" {
			continue
		}
		began := time.Now()
		status, id, _, text := l.post(ctx, base+"/api/v1/tasks", r.body)
		switch {
		case status == http.StatusCreated || status == http.StatusOK && id != 0:
			l.mu.Lock()
			l.accepted[id] = true
			if taken := l.round.taken.Load(); taken != nil && taken.Before(began) {
				l.wrong = append(l.wrong, fmt.Sprintf("task %d was accepted into a database that had been taken away", id))
			}
			l.mu.Unlock()
			if r.cancelled {
				l.cancel(ctx, id, r.later)
			}
			return
		case status == 0 || status == http.StatusServiceUnavailable:
		default:
			l.mu.Lock()
			l.wrong = append(l.wrong, fmt.Sprintf("an answer %d: %.300s", status, text))
			l.mu.Unlock()
			return
		}
	}
}

// cancel is a person's: it is asked for once, and may be refused or not heard.
func (l *load) cancel(ctx context.Context, id int64, later time.Duration) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(later):
	}
	base, _ := l.round.base.Load().(string)
	status, _, state, _ := l.post(ctx, fmt.Sprintf("%s/api/v1/tasks/%d/cancel", base, id), []byte(`{"reason": "the round wants it"}`))
	if status == http.StatusOK && state == string(models.StateCancelled) {
		l.mu.Lock()
		l.cancelled[id] = true
		l.mu.Unlock()
	}
}

// post gives status 0 when there was no whole answer, and else the task in it.
func (l *load) post(ctx context.Context, address string, body []byte) (status int, id int64, state string, text []byte) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, 0, "", nil
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := l.http.Do(req)
	if err != nil {
		return 0, 0, "", nil
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	if err != nil {
		return 0, 0, "", nil
	}
	var task struct {
		ID    int64  `json:"id"`
		State string `json:"state"`
	}
	if json.Unmarshal(text, &task) != nil {
		return answer.StatusCode, 0, "", text
	}
	return answer.StatusCode, task.ID, task.State, text
}
