package tasks

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if ledger := os.Getenv("TASKS_RUN_AS_SERVER"); ledger != "" {
		runAsServer(ledger)
		return
	}
	goleak.VerifyTestMain(m)
}
