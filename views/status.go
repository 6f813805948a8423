package views

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"

	"reax/models"
)

// StatusWord is how something is, as the status page says it.
type StatusWord string

// The words of the status page. A group is one of the first four, or unknown.
const (
	StatusOK          StatusWord = "ok"
	StatusSlow        StatusWord = "slow"
	StatusFailing     StatusWord = "failing"
	StatusPaused      StatusWord = "paused"
	StatusIncident    StatusWord = "incident"
	StatusMaintenance StatusWord = "maintenance"
	StatusUnknown     StatusWord = "unknown"
)

// StatusNone is a day on which nothing ran.
const StatusNone StatusWord = "none"

// StatusWords are all words that the page can say, in no order.
var StatusWords = []StatusWord{StatusOK, StatusSlow, StatusFailing, StatusPaused, StatusIncident, StatusMaintenance, StatusUnknown}

// Status is what strangers are told. It holds nothing of any task, and no name but those of groups.
type Status struct {
	Title     string // empty is the one of the catalogue
	Word      StatusWord
	UpdatedAt models.Instant // when it was true
	Age       time.Duration  // how old it is, when it could not be brought up to date; 0 when it could
	Groups    []StatusGroup
	Open      []models.Incident // those that have begun
	Planned   []models.Incident // work that is to come, the first first
	Past      []models.Incident
	Languages []StatusLanguage // to choose from; none leaves the choice out
	Compact   bool             // no more than the words
	Embedded  bool             // it is a frame of another page
}

// StatusLanguage is one of the languages of the page.
type StatusLanguage struct {
	Locale Locale
	URL    templ.SafeURL
}

// StatusGroup is how some task types are together.
type StatusGroup struct {
	Name        string // empty is all tasks
	Word        StatusWord
	Partly      bool // only some of it is paused
	Good, All   int64
	Enough      bool          // All is enough to say anything
	Window      time.Duration // in which runs are looked at
	Usual       time.Duration // within which nine of ten tasks started; 0 when none did
	Oldest      time.Duration // how long a task waits now; 0 when none does
	PausedUntil models.Instant
	Days        []StatusDay // oldest first
}

// StatusDay is one bar: how a day was.
type StatusDay struct {
	Date      string // 2026-11-29
	Word      StatusWord
	Good, All int64
	Slow      int64 // minutes
}

// tone is the class of a word.
func (w StatusWord) tone() string {
	switch w {
	case StatusOK:
		return "success"
	case StatusSlow, StatusIncident:
		return "retry_wait"
	case StatusFailing:
		return "failed"
	case StatusPaused, StatusMaintenance:
		return "paused"
	}
	return "cancelled"
}

func (w StatusWord) icon() string {
	switch w {
	case StatusOK:
		return "check"
	case StatusSlow:
		return "clock"
	case StatusFailing:
		return "close"
	case StatusPaused:
		return "pause"
	case StatusIncident:
		return "alert"
	case StatusMaintenance:
		return "settings"
	}
	return "suspected"
}

// Text is the word itself.
func (w StatusWord) Text(l Locale) string { return l.Text("status.word." + string(w)) }

// Sentence says the word of everything together.
func (w StatusWord) Sentence(l Locale) string { return l.Text("status.overall." + string(w)) }

// StatusTitle is what the page is called.
func StatusTitle(l Locale, title string) string {
	if title == "" {
		return l.Text("status.title")
	}
	return title
}

// GroupName is what a group is called.
func (g *StatusGroup) GroupName(l Locale) string {
	if g.Name == "" {
		return l.Text("status.all")
	}
	return g.Name
}

// SharePercent is a share in percent, cut to one digit, so that 100 is said of nothing that is less.
func SharePercent(good, all int64) string {
	if all <= 0 {
		return ""
	}
	return strconv.FormatFloat(math.Floor(1000*float64(good)/float64(all))/10, 'f', -1, 64)
}

// RateText says how the runs went.
func (g *StatusGroup) RateText(ctx context.Context) string {
	window := Duration(ctx, g.Window)
	switch {
	case g.Word == StatusUnknown:
		return T(ctx, "status.rate.unknown")
	case g.All == 0:
		return T(ctx, "status.rate.none", "window", window)
	case !g.Enough:
		return T(ctx, "status.rate.few", "window", window)
	case g.Good == g.All:
		return T(ctx, "status.rate.all", "window", window)
	}
	return T(ctx, "status.rate.share", "window", window, "percent", SharePercent(g.Good, g.All))
}

// startsAtOnce is a wait that nobody notices.
const startsAtOnce = 2 * time.Second

// WaitText says how long tasks wait.
func (g *StatusGroup) WaitText(ctx context.Context) string {
	switch {
	case g.Word == StatusUnknown:
		return ""
	case g.Word == StatusPaused && !g.Partly:
		return T(ctx, "status.wait.paused")
	case g.Oldest > g.Usual && g.Oldest > startsAtOnce:
		return T(ctx, "status.wait.oldest", "wait", roughly(ctx, g.Oldest))
	case g.Usual == 0:
		return T(ctx, "status.wait.none")
	case g.Usual <= startsAtOnce:
		return T(ctx, "status.wait.once")
	}
	return T(ctx, "status.wait.usual", "wait", roughly(ctx, g.Usual))
}

// roughly is a duration without more digits than anybody wants.
func roughly(ctx context.Context, d time.Duration) string {
	switch {
	case d > time.Hour:
		d = d.Round(time.Minute)
	case d > time.Minute:
		d = d.Round(10 * time.Second)
	default:
		d = d.Round(time.Second)
	}
	return Duration(ctx, d)
}

// dayText says how a day was.
func dayText(ctx context.Context, d StatusDay) string {
	switch {
	case d.Word == StatusNone:
		return T(ctx, "status.day.none", "day", d.Date)
	case d.Slow > 0:
		return T(ctx, "status.day.slow", "day", d.Date, "percent", SharePercent(d.Good, d.All), "minutes", Duration(ctx, time.Duration(d.Slow)*time.Minute))
	}
	return T(ctx, "status.day.share", "day", d.Date, "percent", SharePercent(d.Good, d.All))
}

// daysText says all bars together, aloud with how many of them are not well.
func (g *StatusGroup) daysText(ctx context.Context, aloud bool) string {
	var good, all int64
	n := map[StatusWord]int{}
	for _, d := range g.Days {
		good, all = good+d.Good, all+d.All
		n[d.Word]++
	}
	switch {
	case all == 0:
		return T(ctx, "status.days.none", "n", len(g.Days))
	case aloud:
		return T(ctx, "status.days.aloud", "days", len(g.Days), "percent", SharePercent(good, all), "failing", n[StatusFailing], "slow", n[StatusSlow])
	}
	return T(ctx, "status.days.share", "percent", SharePercent(good, all))
}

// The bars of days, in units of the drawing. What is worse is lower, so that no colour has to be told from another.
const (
	dayWidth  = 10
	dayHeight = 32
)

var dayHeights = map[StatusWord]int{StatusOK: dayHeight, StatusSlow: 22, StatusFailing: 13, StatusNone: 4}

func dayPath(i int, w StatusWord) string {
	height := dayHeights[w]
	return fmt.Sprintf("M%d %dv-%dh%dv%dz", i*dayWidth+1, dayHeight, height, dayWidth-3, height)
}

func daysBox(days []StatusDay) string {
	return fmt.Sprintf("0 0 %d %d", max(len(days), 1)*dayWidth, dayHeight)
}

// groupsOf says what an incident is about.
func groupsOf(ctx context.Context, i *models.Incident) string {
	names := i.Affected.Names()
	if len(names) == 0 {
		return T(ctx, "status.everything")
	}
	return strings.Join(names, " · ")
}

// incidentTone, incidentIcon and incidentWord are how an incident is marked.
func incidentTone(i *models.Incident) string {
	switch {
	case i.State == models.IncidentResolved:
		return "success"
	case i.Kind == models.IncidentMaintenance:
		return "paused"
	case i.Severity == models.SeverityMinor:
		return "retry_wait"
	}
	return "failed"
}

func incidentIcon(i *models.Incident) string {
	switch {
	case i.State == models.IncidentResolved:
		return "check"
	case i.Kind == models.IncidentMaintenance:
		return "settings"
	}
	return "alert"
}

func incidentWord(ctx context.Context, i *models.Incident) string {
	switch {
	case i.Kind == models.IncidentMaintenance && i.State == models.IncidentPlanned && i.IsOver(models.At(ViewerOf(ctx).now())):
		return T(ctx, "incidents.state.done")
	case i.Kind == models.IncidentMaintenance && i.State == models.IncidentPlanned && i.HasBegun(models.At(ViewerOf(ctx).now())):
		return T(ctx, "status.word.maintenance")
	}
	return T(ctx, "incidents.state."+i.State)
}

// Badge is a small picture that says one word.
type Badge struct {
	Label string
	Word  StatusWord
	Text  string
}

// badgeColours are dark enough for white letters.
var badgeColours = map[string]string{
	"success": "#136b3b", "retry_wait": "#8a4b00", "failed": "#b3261e", "paused": "#5b3cc4", "cancelled": "#565f6d",
}

const (
	badgeLabelColour = "#3c4653"
	badgePad         = 8
	badgeMaxRunes    = 40
)

func (b Badge) colour() string { return badgeColours[b.Word.tone()] }

// label is the Label, cut where the picture would grow too wide.
func (b Badge) label() string {
	if utf8.RuneCountInString(b.Label) > badgeMaxRunes {
		return string([]rune(b.Label)[:badgeMaxRunes]) + "…"
	}
	return b.Label
}

// textWidth is how wide a text of 11 px is at most in the usual letters.
func textWidth(text string) int {
	width := 0.0
	for _, r := range text {
		if r < 0x1100 {
			width += 6.6
		} else {
			width += 11.5
		}
	}
	return int(math.Ceil(width))
}

func (b Badge) labelWidth() int { return textWidth(b.label()) + 2*badgePad }
func (b Badge) width() int      { return b.labelWidth() + textWidth(b.Text) + 2*badgePad }

// languageName is what a language calls itself.
func languageName(l Locale) string {
	for _, pair := range languages {
		if pair[0] == string(l) {
			return pair[1]
		}
	}
	return string(l)
}
