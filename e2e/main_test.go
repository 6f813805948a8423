// Package e2e drives the real program as its users do: over HTTP, over the local socket and by its command line. It
// kills it, freezes it and takes its disk away, starts it again on the same file, and compares the books.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// The programs under test, built once: reax, and reax with the probe task types.
var reaxProgram, probeProgram string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "reax-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	reaxProgram, probeProgram = filepath.Join(dir, "reax"), filepath.Join(dir, "probe")
	for program, source := range map[string]string{reaxProgram: "../cmd/reax", probeProgram: "./probe"} {
		// Not with the race detector, under which the load of the tests would be none. REAX_E2E_RACE=1 looks for races.
		args := []string{"build", "-o", program}
		if os.Getenv("REAX_E2E_RACE") != "" {
			args = append(args, "-race")
		}
		if out, err := exec.Command("go", append(args, source)...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "e2e: building %s: %v\n%s", source, err, out)
			return 1
		}
	}
	code := m.Run()
	web.CloseIdleConnections()
	if err := stopBrowser(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: stopping the browser:", err)
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return code
}
