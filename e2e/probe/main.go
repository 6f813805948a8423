// Command probe is reax with task types that the end-to-end tests can look into: each start and each end of a run is a
// line in the file that PROBE_OUT names. PROBE_WORKERS is the concurrency of each type, PROBE_BACKOFF the first wait
// before a retry and the longest, such as "100ms,400ms", and PROBE_WITHOUT a type that is to be missing.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"reax/cmd/cli"
	"reax/tasks"
)

func main() {
	// A file that may not grow is then an error of the write, which the database must bear, and not the end of the process.
	signal.Ignore(syscall.SIGXFSZ)
	cli.Main(register)
}

// Params are those of all probes; each reads what it needs.
type Params struct {
	Do    string          `json:"do,omitempty" jsonschema:"description=What P.mixed does"`
	MS    int             `json:"ms,omitempty" jsonschema:"minimum=0,maximum=3600000"`
	N     int             `json:"n,omitempty" jsonschema:"description=How often to fail; below 0 always"`
	Bytes int             `json:"bytes,omitempty" jsonschema:"minimum=0,maximum=100000000"`
	Text  string          `json:"text,omitempty"`
	Hex   string          `json:"hex,omitempty" jsonschema:"description=Bytes that JSON text cannot hold"`
	Lines int             `json:"lines,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
}

type handler func(context.Context, Params) (json.RawMessage, error)

var probes = map[string]handler{
	"log": success, "sleep": sleep, "stubborn": stubborn, "fail": fail, "perm": permanent, "panic": crash, "goexit": goexit,
	"err": failWith, "ret": give, "talk": talk, "exit": exit, "kill": kill, "leak": leak,
}

func register(r *tasks.Registry) {
	without := os.Getenv("PROBE_WITHOUT")
	options := []tasks.Option{tasks.Backoff(backoff())}
	if n, err := strconv.Atoi(os.Getenv("PROBE_WORKERS")); err == nil {
		options = append(options, tasks.Concurrency(n))
	}
	add := func(name string, h handler) {
		if name != without {
			tasks.Register(r, name, witnessed(h), options...)
		}
	}
	for name, h := range probes {
		add("P."+name, h)
	}
	// One type for all of them, so that they share one pool.
	add("P.mixed", func(ctx context.Context, p Params) (json.RawMessage, error) {
		h, ok := probes[p.Do]
		if !ok {
			return nil, tasks.Permanent(fmt.Errorf("there is no probe %q", p.Do))
		}
		return h(ctx, p)
	})
	if without != "P.raw" {
		raw := tasks.Definition{Name: "P.raw", Kind: tasks.KindGo, Schema: tasks.AnyObject(), Policy: tasks.DefaultPolicy()}
		raw.Handler = func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
			defer witness(ctx)()
			return params, nil
		}
		_ = r.Add(raw) // Err reports it
	}
}

func backoff() (first, longest time.Duration) {
	a, b, _ := strings.Cut(os.Getenv("PROBE_BACKOFF"), ",")
	first, err1 := time.ParseDuration(a)
	longest, err2 := time.ParseDuration(b)
	if err1 != nil || err2 != nil {
		return 200 * time.Millisecond, time.Second
	}
	return first, longest
}

// Line is one line of PROBE_OUT.
type Line struct {
	Event   string `json:"event"` // start or end
	TaskID  int64  `json:"task_id"`
	Type    string `json:"type"`
	TraceID string `json:"trace_id"`
	Attempt int    `json:"attempt"`
	UnixUS  int64  `json:"unix_us"`
	PID     int    `json:"pid"`
}

// witnessed writes the lines around a run, also around one that panics.
func witnessed(h handler) handler {
	return func(ctx context.Context, p Params) (json.RawMessage, error) {
		defer witness(ctx)()
		return h(ctx, p)
	}
}

func witness(ctx context.Context) (end func()) {
	run := tasks.RunOf(ctx)
	write := func(event string) {
		line, err := json.Marshal(Line{event, run.TaskID, run.Type, run.TraceID, run.Attempt, time.Now().UnixMicro(), os.Getpid()})
		if err != nil {
			panic(err)
		}
		// One write, which outlives the process without an fsync. A line that a kill cut short ends at the next one's start.
		f, err := os.OpenFile(os.Getenv("PROBE_OUT"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		if _, err := f.WriteString("\n" + string(line) + "\n"); err != nil {
			panic(err)
		}
	}
	write("start")
	return func() { write("end") }
}

func success(context.Context, Params) (json.RawMessage, error) { return nil, nil }

func sleep(ctx context.Context, p Params) (json.RawMessage, error) {
	select {
	case <-time.After(time.Duration(p.MS) * time.Millisecond):
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func stubborn(_ context.Context, p Params) (json.RawMessage, error) {
	<-time.After(time.Duration(p.MS) * time.Millisecond)
	return nil, nil
}

// fail works for MS and fails the first N times.
func fail(ctx context.Context, p Params) (json.RawMessage, error) {
	if _, err := sleep(ctx, p); err != nil {
		return nil, err
	}
	if attempt := tasks.RunOf(ctx).Attempt; p.N < 0 || attempt <= p.N {
		return nil, fmt.Errorf("failure %d", attempt)
	}
	return nil, nil
}

func permanent(context.Context, Params) (json.RawMessage, error) {
	return nil, tasks.Permanent(errors.New("it will never work"))
}

func crash(_ context.Context, p Params) (json.RawMessage, error) {
	switch p.Text {
	case "nil":
		panic(nil) //nolint:govet // what people do by mistake is what is tested
	case "huge":
		panic(strings.Repeat("p", 1<<20))
	}
	panic("a probe panics")
}

// exit ends the whole process, as a handler that calls log.Fatal does.
func exit(context.Context, Params) (json.RawMessage, error) {
	os.Exit(3)
	return nil, nil
}

func kill(context.Context, Params) (json.RawMessage, error) {
	return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// leak leaves N goroutines behind, each for a second.
func leak(_ context.Context, p Params) (json.RawMessage, error) {
	for range p.N {
		go func() { <-time.After(time.Second) }()
	}
	return nil, nil
}

func goexit(context.Context, Params) (json.RawMessage, error) {
	runtime.Goexit()
	return nil, nil
}

// failWith fails with a text of the given bytes, or of so many bytes in letters of three.
func failWith(_ context.Context, p Params) (json.RawMessage, error) {
	text, err := textOf(p)
	if err != nil {
		return nil, err
	}
	return nil, errors.New(text)
}

// give returns the text as JSON string, or the bytes as they are.
func give(_ context.Context, p Params) (json.RawMessage, error) {
	text, err := textOf(p)
	if err != nil || p.Hex != "" {
		return json.RawMessage(text), err
	}
	return json.Marshal(text)
}

func textOf(p Params) (string, error) {
	switch {
	case p.Hex != "":
		raw, err := hex.DecodeString(p.Hex)
		return string(raw), tasks.Permanent(err)
	case p.Bytes > 0:
		return "head" + strings.Repeat("語", p.Bytes/len("語")) + "tail", nil
	}
	return p.Text, nil
}

func talk(ctx context.Context, p Params) (json.RawMessage, error) {
	logger := tasks.RunOf(ctx).Logger
	for i := range p.Lines {
		logger.Info("line", "number", i+1)
		if i%100 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	tasks.RunOf(ctx).Progress(1, 1, "all said")
	return nil, nil
}
