package timetable

import "time"

// wallClock runs a cron pattern by the clock on a wall: the one place that knows what happens when that clock jumps.
type wallClock struct {
	*pattern
	zone *time.Location
}

// settled is how long after a change of offset nothing of it can be felt: longer than any change ever was.
const settled = 2 * day

func (c *wallClock) next(from int64) (int64, bool) {
	for from <= latest {
		p := periodAt(c.zone, from)
		wall := from + p.offset
		if from < p.start+settled {
			reached := shownBefore(c.zone, p)
			if from == p.start {
				if _, owed := c.owed(p, reached); owed {
					return from, true
				}
			}
			if !c.allHours {
				wall = max(wall, reached)
			}
		}
		match, ok := c.nextWall(wall)
		if !ok {
			return 0, false
		}
		if run := match - p.offset; run < p.end {
			return run, true
		}
		// A rare date is looked for once, and not again in each half year on the way to it.
		from = max(p.end, match-settled)
	}
	return 0, false
}

// owed is the first wall time that was skipped right before p and has to be made up for at its start.
func (c *wallClock) owed(p period, reached int64) (wall int64, ok bool) {
	begins := p.start + p.offset
	if reached == -unbounded || reached >= begins || c.allHours && (begins-reached)%3600 == 0 {
		return 0, false
	}
	// A skipped wall is made up for only if its date has some other moment: right before the gap, or right after it.
	dateBefore, dateAfter := floorDiv(reached-1, day), floorDiv(begins, day)
	if wall, ok = c.nextWall(reached); ok && wall < begins && floorDiv(wall, day) == dateBefore {
		return wall, true
	}
	wall, ok = c.nextWall(max(reached, dateAfter*day))
	return wall, ok && wall < begins
}

func (c *wallClock) count(from, to int64) (n int) {
	for n < CountLimit {
		run, ok := c.next(from)
		if !ok || run > to {
			break
		}
		p := periodAt(c.zone, run)
		wall := run + p.offset
		midnight := floorDiv(wall, day) * day
		tomorrow := midnight + day - p.offset
		if midnight-p.offset >= p.start+settled && tomorrow <= p.end && tomorrow <= to {
			n += c.restOfDay(int((wall - midnight) / 60)) // an ordinary day: no need to visit each run
			from = tomorrow
		} else {
			n++
			from = run + 1
		}
	}
	return min(n, CountLimit)
}

func (c *wallClock) explain(run int64) (note string, wall int64) {
	p := periodAt(c.zone, run)
	wall = run + p.offset
	if run < p.start+settled {
		reached := shownBefore(c.zone, p)
		if skipped, owed := c.owed(p, reached); owed && run == p.start {
			return NoteGap, skipped
		}
		if wall < reached {
			return NoteDoubled, wall
		}
	}
	if !c.allHours && p.end < unbounded {
		if wall >= p.end+periodAt(c.zone, p.end).offset {
			return NoteRepeated, wall
		}
	}
	return "", wall
}

// floorDiv rounds down also below zero, where the years before 1970 are.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
