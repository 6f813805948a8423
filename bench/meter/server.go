package meter

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Server watches the memory of a server process and of its children. What processes share is counted once.
type Server struct {
	peak atomic.Int64 // kB
	end  func()
}

// WatchServer looks at the server four times a second until Peak is called. A pid of 0 has no memory.
func WatchServer(pid int) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s := &Server{end: func() { cancel(); <-done }}
	go func() {
		defer close(done)
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for pid != 0 {
			s.peak.Store(max(s.peak.Load(), treeKB(pid)))
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return s
}

// Peak ends the watch, and is the most memory that was seen, in MB.
func (s *Server) Peak() int64 {
	s.end()
	return s.peak.Load() / 1024
}

func treeKB(pid int) int64 {
	var sum int64
	for _, p := range append(children(pid), pid) {
		rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p))
		if err == nil {
			sum += max(kilobytes(string(rollup), "Pss:"), 0)
		}
	}
	return sum
}

func children(pid int) []int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	var pids []int
	for word := range strings.FieldsSeq(string(text)) {
		if p, err := strconv.Atoi(word); err == nil {
			pids = append(pids, p)
		}
	}
	return pids
}
