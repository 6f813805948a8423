//go:build steppedclock

package main

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	_ "unsafe" // for linkname
)

// wallStep is in seconds how far the wall clock of this process is off. It is a variable of package time as the fault
// suite builds it: only there can a clock be set for a whole program, timers and the monotonic clock left alone, as a
// step of the machine's own clock would leave them.
//
//go:linkname wallStep time.wallStep
var wallStep int64

// look is how soon the process notices that its clock was set.
const look = 10 * time.Millisecond

// The file that PROBE_CLOCK names holds the step; a file that is not there is none.
func init() {
	name := os.Getenv("PROBE_CLOCK")
	if name == "" {
		return
	}
	set := func() {
		text, err := os.ReadFile(name)
		if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil {
			atomic.StoreInt64(&wallStep, n)
		}
	}
	set()
	go func() {
		for range time.Tick(look) {
			set()
		}
	}()
}
