package models

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// leastRoom is the room in bytes beside the mark under which CutText keeps the head alone.
const leastRoom = 32

// CutText makes s fit to be stored: each byte that is no UTF-8 and each zero character, which some databases refuse,
// become U+FFFD, and a text over limit bytes keeps its head and its tail with the number of bytes left out between. The
// result is never longer than limit bytes, is always UTF-8 and is cut between letters.
func CutText(s string, limit int) string {
	if len(s) <= limit {
		if cleaned := strings.Map(cleanRune, s); len(cleaned) <= limit {
			return cleaned
		}
	}
	// The ends are cleaned and not the whole, which may be many megabytes. No number is longer than that of all bytes.
	room := limit - len(leftOut(len(s)))
	if room < leastRoom {
		head, _ := cleanHead(s, limit)
		return head
	}
	head, used := cleanHead(s, room-room/3)
	rest := s[used:]
	start := tailStart(rest, room/3)
	tail, _ := cleanHead(rest[start:], room/3)
	return head + leftOut(start) + tail
}

func leftOut(n int) string { return fmt.Sprintf("… %d bytes left out …", n) }

// cleanRune replaces the zero character; strings.Map and the decoders give bytes that are no UTF-8 as U+FFFD already.
func cleanRune(r rune) rune {
	if r == 0 {
		return utf8.RuneError
	}
	return r
}

// cleanHead cleans as much of the start of s as gives at most room bytes, and says how many bytes of s that took.
func cleanHead(s string, room int) (text string, used int) {
	var b strings.Builder
	for used < len(s) {
		r, size := utf8.DecodeRuneInString(s[used:])
		r = cleanRune(r)
		if b.Len()+utf8.RuneLen(r) > room {
			break
		}
		b.WriteRune(r)
		used += size
	}
	return b.String(), used
}

// tailStart finds where the end of s begins that gives at most room bytes when it is clean.
func tailStart(s string, room int) int {
	start := len(s)
	for start > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:start])
		room -= utf8.RuneLen(cleanRune(r))
		if room < 0 {
			break
		}
		start -= size
	}
	return start
}
