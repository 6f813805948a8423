package main

import (
	"fmt"
	"slices"
	"strings"
)

// sum is what rounds came to.
type sum struct {
	rounds, failed int
	tasks, runs    int // accepted; runs that a handler has seen
	starts         int // of the server
	marked         int // runs that may have been a second one, and say so
	unmarked       int
	lost           int
	faults         map[string]int
}

func (s *sum) count(fault string) {
	if s.faults == nil {
		s.faults = map[string]int{}
	}
	s.faults[fault]++
}

func (s *sum) add(o sum) {
	s.rounds += o.rounds
	s.failed += o.failed
	s.tasks += o.tasks
	s.runs += o.runs
	s.starts += o.starts
	s.marked += o.marked
	s.unmarked += o.unmarked
	s.lost += o.lost
	for name, n := range o.faults {
		for range n {
			s.count(name)
		}
	}
}

// table is the sum as a table of docs/reliability.md.
func (s *sum) table() string {
	var b strings.Builder
	row := func(name string, n int) { fmt.Fprintf(&b, "| %s | %d |\n", name, n) }
	b.WriteString("| | |\n|---|---:|\n")
	row("rounds", s.rounds)
	row("rounds that failed", s.failed)
	row("starts of the server", s.starts)
	names := make([]string, 0, len(s.faults))
	for name := range s.faults {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		row(name, s.faults[name])
	}
	row("tasks accepted", s.tasks)
	row("runs that handlers saw", s.runs)
	row("second runs, marked", s.marked)
	row("second runs, unmarked", s.unmarked)
	row("tasks lost", s.lost)
	return b.String()
}
