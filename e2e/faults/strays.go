package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is in what /proc counts the age of a process.
const clockTick = 100

// strays are the processes that came from this round's tasks and are none of its server: all that carry the witness's
// name in their environment and began before an instant. What has ended is none.
func (r *round) strays(before time.Time) (pids []int) {
	folders, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, f := range folders {
		pid, err := strconv.Atoi(f.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + f.Name() + "/environ")
		if err != nil || !bytes.Contains(env, []byte("PROBE_OUT="+r.witness.name)) {
			continue
		}
		if began, ok := beganAt(f.Name()); ok && began.Before(before) && (r.server == nil || pid != r.server.pid()) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// beganAt tells when a process was started.
func beganAt(pid string) (time.Time, bool) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return time.Time{}, false
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return time.Time{}, false
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	uptime, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return time.Time{}, false
	}
	first, _, _ := strings.Cut(string(uptime), " ")
	up, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return time.Time{}, false
	}
	age := time.Duration(up*float64(time.Second)) - time.Duration(ticks)*time.Second/clockTick
	return time.Now().Add(-age), true
}

// requireNoStrays expects that no process of a task is left that began before an instant. The caller holds the lock, or
// nothing else runs.
func (r *round) requireNoStrays(before time.Time) error {
	var pids []int
	for over := time.Now().Add(5 * time.Second); ; {
		if pids = r.strays(before.Add(-50 * time.Millisecond)); len(pids) == 0 { // ages are known to the hundredth of a second
			return nil
		}
		if time.Now().After(over) {
			break
		}
		<-time.After(look)
	}
	var names []string
	for _, pid := range pids {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		names = append(names, fmt.Sprintf("%d %q", pid, bytes.ReplaceAll(name, []byte{0}, []byte(" "))))
	}
	return fmt.Errorf("processes of tasks outlive the server that started them: %s", strings.Join(names, ", "))
}

// killStrays ends what is left of a round that has failed.
func (r *round) killStrays() {
	for _, pid := range r.strays(time.Now().Add(time.Hour)) {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill() // it may have ended meanwhile
		}
	}
}
