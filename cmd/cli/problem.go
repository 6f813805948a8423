package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// problem is one thing wrong with the configuration: where it is, and a sentence about it.
type problem struct {
	File string
	Line int    // from 1; 0 when the whole file is meant
	Path string // the key, as in tasks.report.generate.timeout; empty for the whole file
	Text string
}

func (p problem) String() string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Path != "" {
		where += ": " + p.Path
	}
	return where + ": " + p.Text
}

// problems are all that is wrong with a configuration, so that one run of reax check is enough to put it right.
type problems []problem

func (ps problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted gives the problems in the order of the file's lines.
func (ps problems) sorted() problems {
	slices.SortStableFunc(ps, func(a, b problem) int { return cmp.Compare(a.Line, b.Line) })
	return ps
}

// nearest finds the word that was probably meant by wrong, or "" when none is near.
func nearest(wrong string, words []string) string {
	best, distance := "", 3
	if len([]rune(wrong)) < 5 {
		distance = 2
	}
	for _, w := range words {
		if d := editDistance(strings.ToLower(wrong), w); d < distance {
			best, distance = w, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions and replacements that make a into b.
func editDistance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	row := make([]int, len(rb)+1)
	for j := range row {
		row[j] = j
	}
	for i, ca := range ra {
		before := row[0]
		row[0] = i + 1
		for j, cb := range rb {
			replace := before
			if ca != cb {
				replace++
			}
			before = row[j+1]
			row[j+1] = min(replace, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(rb)]
}

// meant is the tail of a message about an unknown word: a guess, or else what is allowed.
func meant(wrong string, words []string) string {
	words = slices.Sorted(slices.Values(words))
	if near := nearest(wrong, words); near != "" {
		return fmt.Sprintf("(did you mean %s?)", near)
	}
	return fmt.Sprintf("(known: %s)", strings.Join(words, ", "))
}
