package cli

import (
	"log/slog"
	"net"

	"reax/models"
)

// unfinished is how many tasks wait. Before the runtime starts none runs: what is marked as running was cut off by a crash,
// and waits as well.
func unfinished(counts []models.Count) (n int64) {
	for _, c := range counts {
		if c.State.IsWaiting() || c.State == models.StateRunning {
			n += c.N
		}
	}
	return n
}

// logStart is the first line of a server that works: what it is, and what it found in its ledger.
func logStart(logger *slog.Logger, asm assembly, address net.Addr, counts []models.Count) {
	workers := 0
	for _, d := range asm.Registry.All() {
		workers += d.Policy.Concurrency
	}
	found := map[models.State]int64{}
	for _, c := range counts {
		found[c.State] += c.N
	}
	states := make([]any, len(models.States))
	for i, state := range models.States {
		states[i] = slog.Int64(string(state), found[state])
	}
	logger.Info("reax has started", "version", Version, "address", address.String(), "database", asm.Config.Database,
		"types", len(asm.Registry.All()), "workers", workers, "backlog", unfinished(counts),
		slog.Group("states", states...))
}
