package models

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

// errorKinds says what each of the four questions answers for an error.
type errorKinds struct{ busy, full, unavailable, constraint bool }

func kindsOf(err error) errorKinds {
	return errorKinds{IsBusy(err), IsFull(err), IsUnavailable(err), IsConstraint(err)}
}

func TestErrorsOfARealDatabaseAreToldApart(t *testing.T) {
	s := openStore(t)
	w := s.Writer()
	require.NoError(t, w.Exec("PRAGMA busy_timeout = 1").Error)
	seedTasks(t, s, row{"unique_key": "k"})
	insert := func(columns, values string) error {
		return w.Exec(fmt.Sprintf(`INSERT INTO tasks (type, state, priority, max_retries, run_at, created_at, updated_at, trace_id, %s)
			VALUES ('t', 'pending', 5, 3, 1, 1, 1, 'x', %s)`, columns, values)).Error
	}
	constraint := errorKinds{constraint: true}
	require.Equal(t, constraint, kindsOf(insert("params, unique_key", "'{}', 'k'")), "a key that is taken")
	require.Equal(t, constraint, kindsOf(insert("params, id", "'{}', 1")), "an id that is taken")
	require.Equal(t, constraint, kindsOf(insert("params", "NULL")), "a NULL")
	require.Equal(t, constraint, kindsOf(insert("params, crashes", "'{}', 'many'")), "a wrong type")
	require.Equal(t, errorKinds{}, kindsOf(insert("params", "nonsense")))

	full := errorKinds{full: true, unavailable: true}
	require.NoError(t, w.Exec("PRAGMA max_page_count = 1").Error)
	require.Equal(t, full, kindsOf(insert("params", "zeroblob(0) || printf('%.*c', 1000000, 'x')")))
	require.NoError(t, w.Exec("PRAGMA max_page_count = 1000000").Error)

	foreign, err := openWriter(s.Path(), "FULL", time.Millisecond)
	require.NoError(t, err)
	defer func() { require.NoError(t, closeHandle(foreign)) }()
	busy := errorKinds{busy: true, unavailable: true}
	require.NoError(t, foreign.Transaction(func(*gorm.DB) error {
		require.Equal(t, busy, kindsOf(insert("params", "'{}'")))
		require.Equal(t, busy, kindsOf(w.Transaction(func(*gorm.DB) error { return nil })))
		require.Equal(t, busy, kindsOf(fmt.Errorf("enqueuing: %w", insert("params", "'{}'"))))
		_, err := s.Task(t.Context(), 1)
		return err // readers do not mind a writer
	}))
	require.NoError(t, insert("params", "'{}'"))
}

func TestErrorsThatAreNotTheDatabases(t *testing.T) {
	for _, err := range []error{nil, errors.New("x"), context.Canceled, ErrNotFound, gorm.ErrRecordNotFound, sqlite3.Error{Code: sqlite3.ErrCorrupt}} {
		require.Equal(t, errorKinds{}, kindsOf(err), "%v", err)
	}
	for _, code := range []sqlite3.ErrNo{sqlite3.ErrIoErr, sqlite3.ErrReadonly, sqlite3.ErrCantOpen} {
		require.Equal(t, errorKinds{unavailable: true}, kindsOf(sqlite3.Error{Code: code}))
	}
}

func TestWriterTransactionTakesTheLockAtItsStart(t *testing.T) {
	s := openStore(t)
	foreign, err := openWriter(s.Path(), "FULL", time.Millisecond)
	require.NoError(t, err)
	defer func() { require.NoError(t, closeHandle(foreign)) }()
	require.NoError(t, s.Writer().Transaction(func(*gorm.DB) error {
		require.True(t, IsBusy(foreign.Exec("DELETE FROM tasks").Error))
		return nil
	}))
}
