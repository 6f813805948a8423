package timetable

import "time"

// interval runs at its anchor and then every so many seconds of real time.
type interval struct {
	anchor, every int64
	zone          *time.Location
}

func newInterval(every time.Duration, anchor time.Time, zone *time.Location) (plan, *FieldError) {
	switch {
	case every < time.Second:
		return nil, refuse("every", "every.short", every)
	case every > maxEvery:
		return nil, refuse("every", "every.long", every)
	case every%time.Second != 0:
		return nil, refuse("every", "every.whole", every)
	}
	p := interval{every: int64(every / time.Second), zone: zone}
	if !anchor.IsZero() {
		p.anchor = anchor.Unix()
	}
	if p.anchor < earliest || p.anchor > latest {
		return nil, refuse("every", "every.anchor")
	}
	return p, nil
}

func (p interval) next(from int64) (int64, bool) {
	if from <= p.anchor {
		return p.anchor, true
	}
	steps := (from - p.anchor + p.every - 1) / p.every
	return p.anchor + steps*p.every, true
}

func (p interval) count(from, to int64) int {
	first, _ := p.next(from)
	if first > to {
		return 0
	}
	return int(min((to-first)/p.every+1, CountLimit))
}

func (p interval) explain(run int64) (note string, wall int64) {
	offset := periodAt(p.zone, run).offset
	if run > p.anchor && periodAt(p.zone, run-p.every).offset != offset {
		note = NoteZoneChange
	}
	return note, run + offset
}

// once runs at one instant.
type once struct {
	at   int64
	zone *time.Location
}

func (p once) next(from int64) (int64, bool) { return p.at, from <= p.at }

func (p once) count(from, to int64) int {
	if from <= p.at && p.at <= to {
		return 1
	}
	return 0
}

func (p once) explain(run int64) (note string, wall int64) {
	return "", run + periodAt(p.zone, run).offset
}
