package models

import "time"

// Instant is a moment as the ledger stores it: Unix microseconds, UTC. Zero means "none", and is NULL in the database.
// It is a number and never text, so that two instants always compare as moments, whatever zone they were made in.
type Instant int64

// At converts t to an Instant, cutting it to the microsecond. The zero time gives the zero Instant.
func At(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMicro())
}

// Time gives the moment in UTC, or the zero time for the zero Instant.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(i)).UTC()
}

// IsZero reports whether i is "none".
func (i Instant) IsZero() bool { return i == 0 }

// Add moves i by d, cut to the microsecond.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Microseconds()) }

// Sub gives the time from other to i.
func (i Instant) Sub(other Instant) time.Duration { return time.Duration(i-other) * time.Microsecond }

// orNull is i as a statement's argument: NULL when there is none.
func (i Instant) orNull() any {
	if i == 0 {
		return nil
	}
	return int64(i)
}

// textOrNull is s as a statement's argument: NULL when it is empty, which costs no bytes in a row.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
