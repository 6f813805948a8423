package views

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"reax/models"
)

// Overview is the first page. Its texts are in the viewer's language.
type Overview struct {
	Verdict  Verdict
	Known    bool   // the ledger answered; without that there is a verdict and nothing else
	Start    *Start // there is no task yet
	Tiles    []Tile
	Spans    []Tab // how far back the charts go
	Finished Chart
	Title    string       // of Finished
	Span     string       // how far back, in words
	Events   []ChartEvent // what the marks in Finished are, the latest first
	Wait     Times
	Run      Times
	Notices  []Notice
	More     int // notices that are not shown
	Types    []BusyType
	AllTypes int
	Runs     []NextRun
}

// Verdict is how reax is, in a sentence or a few.
type Verdict struct {
	Status string // a word of the runtime's health, for programs that read the page
	Tone   string // a state; success shows as a quiet line
	Title  string
	Causes []Sentence
}

// Sentence is one cause of a verdict.
type Sentence struct {
	Text  string
	Since string // may be empty
	URL   templ.SafeURL
}

// Times is a chart of how long something took: the median and the 95th percentile.
type Times struct {
	Title    string
	Label    string
	P50, P95 time.Duration // of the whole span
	N        int64         // what was measured; nothing is drawn for none
	Top      time.Duration // of the axis
	Lines    []Line
	From, To models.Instant
}

// Notice is something that a person should look at.
type Notice struct {
	Tone   string // of its pill
	Icon   string
	Word   string // on its pill
	Name   string // what it is about: a type or a schedule; may be empty
	Text   string
	Detail string // the words of others; shown in one line
	N      int64  // how many tasks; 0 for a thing that has no number
	Least  bool   // there may be more than N
	At     models.Instant
	URL    templ.SafeURL
}

// BusyType is a task type and how busy it is.
type BusyType struct {
	Name    string
	URL     templ.SafeURL
	Paused  bool
	Spark   []float64
	Busy    int64
	Workers int64
	Ready   int64
	Success string // a percentage; empty when there were too few runs
	Bad     bool   // it is too low
	Runs    int64  // of the hour
	P95     time.Duration
}

// NextRun is a run of a schedule that is to come.
type NextRun struct {
	Name string
	URL  templ.SafeURL
	When string // its rule, in words
	At   models.Instant
}

// Start is what to do when there is nothing yet: three steps.
type Start struct {
	Demo    bool   // the demonstration type is there
	Run     string // a command for a terminal
	Request string // the same over HTTP
	Own     string // how to make a type of one's own; empty where there already is one
	Plan    string // a command that makes a schedule
}

// maxCauses is how many causes a verdict names.
const maxCauses = 3

func (v Verdict) shown() []Sentence { return v.Causes[:min(len(v.Causes), maxCauses)] }
func (v Verdict) icon() string {
	if v.Tone == "success" {
		return "check"
	}
	return "alert"
}

func (v Verdict) left() int { return len(v.Causes) - len(v.shown()) }

func (r BusyType) workers(ctx context.Context) string {
	return T(ctx, "overview.busy_of", "busy", r.Busy, "all", r.Workers)
}

func (t Times) note(ctx context.Context) string {
	if t.N == 0 {
		return ""
	}
	return T(ctx, "overview.times", "p50", Duration(ctx, t.P50), "p95", Duration(ctx, t.P95))
}
