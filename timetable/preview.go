package timetable

import (
	"fmt"
	"strings"
	"time"
)

// Notes of an occurrence: stable codes, for programs. NoteText says them to people.
const (
	NoteGap        = "gap"         // the clock skips the planned time; runs at the first instant after the gap
	NoteRepeated   = "repeated"    // the planned time happens twice; this is the first, and the only run
	NoteDoubled    = "doubled"     // the same time, on its second round; the pattern runs every hour, so in both
	NoteZoneChange = "zone_change" // the offset from UTC changed since the run before; an interval keeps real time
)

// Occurrence is one run of a preview.
type Occurrence struct {
	At   time.Time // in the zone of the schedule
	Note string    // one of the Note constants, or empty
	Wall string    // planned date and time of day, such as 2027-03-14 02:30; with NoteGap no clock ever shows it
}

// NoteText is the note as a sentence, in Chinese when lang starts with zh and else in English; empty without a note.
func (o Occurrence) NoteText(lang string) string {
	sentence := chosen(lang).note(o.Note)
	if sentence == "" {
		return ""
	}
	_, clock, _ := strings.Cut(o.Wall, " ")
	return fmt.Sprintf(sentence, clock, o.At.Format("15:04"))
}

// onWall is a time whose fields are what the clock on the wall shows.
func onWall(wall int64) time.Time { return time.Unix(wall, 0).UTC() }

// layout shows seconds only where there are some.
func layout(wall int64) string {
	if wall%60 != 0 {
		return "2006-01-02 15:04:05"
	}
	return "2006-01-02 15:04"
}
