package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build compiles the probe. With a clock that can be stepped, package time is compiled with one line more: it adds a
// number of seconds to the wall clock, and leaves the monotonic clock and all timers alone, as a step of the machine's
// own clock does.
func build(ctx context.Context, program string, clock bool) error {
	args := []string{"build", "-o", program}
	if clock {
		overlay, err := stepped(ctx, filepath.Dir(program))
		if err != nil {
			return err
		}
		args = append(args, "-tags", "steppedclock", "-overlay", overlay)
	}
	compile := exec.CommandContext(ctx, "go", append(args, "reax/e2e/probe")...) //nolint:gosec // the arguments are our own
	if text, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("building the probe: %w\n%s", err, text)
	}
	return nil
}

// stepped writes package time's changed file and gives the name of the list that puts it in the place of the other.
func stepped(ctx context.Context, folder string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("looking for Go's sources: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		return "", fmt.Errorf("reading package time: %w", err)
	}
	const now = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	if strings.Count(string(text), now) != 1 {
		return "", fmt.Errorf("%s is not as expected: the clock cannot be stepped; use -clock=false", source)
	}
	changed := strings.Replace(string(text), now, strings.Replace(now, "\n", "\n\tsec += wallStep\n", 1), 1) +
		"\n//go:linkname wallStep\nvar wallStep int64\n"
	file, list := filepath.Join(folder, "time.go"), filepath.Join(folder, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {source: file}})
	if err != nil {
		return "", fmt.Errorf("writing the overlay: %w", err)
	}
	for name, text := range map[string][]byte{file: []byte(changed), list: replace} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return "", fmt.Errorf("writing the overlay: %w", err)
		}
	}
	return list, nil
}
