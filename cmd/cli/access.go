package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"syscall"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

// offlineBy is who changes a database that has no server, as the record names them.
const offlineBy = "command"

// withoutServer changes a database that no server has open.
type withoutServer func(accounts *actors.Accounts, store *models.Store, by actors.Change) (any, error)

// access asks the running server for a change to accounts or tokens. When none has the database, the command opens the
// file itself, under the lock that a server would take. mayMake says that the database may be made. The answer is JSON, by
// either way the same.
func (f serverFlags) access(ctx context.Context, mayMake bool, call func(api *client) (json.RawMessage, error), offline withoutServer) (json.RawMessage, error) {
	api, err := f.connect()
	if err != nil {
		return nil, err
	}
	answer, err := call(api)
	if f.URL != "" || !isNoServer(err) {
		return answer, err
	}
	path, err := databaseOf(f.DB, f.Config)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); !mayMake && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no database %s, and no server on it", path)
	}
	store, err := models.Open(ctx, models.Config{Path: path, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	accounts, err := actors.OfflineAccounts(ctx, store)
	var value any
	if err == nil {
		value, err = offline(accounts, store, actors.Change{By: offlineBy})
	}
	if err = errors.Join(plainRefusal(err), store.Close()); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// isNoServer reports whether nobody answers on the socket of a database.
func isNoServer(err error) bool {
	_, unreachable := errors.AsType[*unreachableError](err)
	return unreachable && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED))
}

// plainRefusal is a refusal in its own words, as the server would give it.
func plainRefusal(err error) error {
	for _, refusal := range []error{models.ErrNameTaken, models.ErrFirstAdmin, models.ErrLastAdmin, models.ErrTooMany} {
		if errors.Is(err, refusal) {
			return refusal
		}
	}
	if errors.Is(err, models.ErrNotFound) {
		return errors.New("there is none of that name")
	}
	if bad, ok := errors.AsType[*tasks.InvalidError](err); ok && len(bad.Fields) > 0 {
		return fmt.Errorf("%s: %s", bad.Fields[0].Location, bad.Fields[0].Message)
	}
	return err
}
