// Package meter has what the measurements share: memory, processor time, percentiles, and the name of the machine.
package meter

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// PeakMB is the most memory that this process has had in use so far, in MB; -1 when the system does not say.
func PeakMB() int64 { return statusMB(os.Getpid(), "VmHWM:") }

// ResidentMB is the memory that this process has in use now, in MB; -1 when the system does not say.
func ResidentMB() int64 { return statusMB(os.Getpid(), "VmRSS:") }

func statusMB(pid int, field string) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return -1
	}
	if kb := kilobytes(string(status), field); kb >= 0 {
		return kb / 1024
	}
	return -1
}

// kilobytes finds a line such as "VmRSS:   1234 kB"; -1 when there is none.
func kilobytes(text, field string) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == field {
			if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return kb
			}
		}
	}
	return -1
}

// CPUTime is the processor time that this process has used so far, over all cores.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Percentile is the p-th percentile (0 to 100) of sorted times; 0 when there are none.
func Percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// Median is the middle one of values in any order; of an even number the lower one. 0 when there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// MS is a time in milliseconds.
func MS(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// Machine names the machine: its processor, cores, memory and the Go version.
func Machine() string {
	memory := "unknown memory"
	if info, err := os.ReadFile("/proc/meminfo"); err == nil {
		memory = fmt.Sprintf("%d GB of memory", (kilobytes(string(info), "MemTotal:")+1<<19)>>20)
	}
	return fmt.Sprintf("%d cores of %s, %s, %s", runtime.GOMAXPROCS(0), processor(), memory, runtime.Version())
}

func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "an unknown processor"
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "an unknown processor"
}

// Load is the load of the machine over the last minute, as the system words it.
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

// Count is a whole number with commas.
func Count(f float64) string {
	digits := strconv.FormatInt(int64(f+0.5), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Span is a time in minutes and seconds.
func Span(d time.Duration) string {
	d = d.Round(time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}
