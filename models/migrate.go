package models

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
	"gorm.io/gorm"
)

//go:embed migrations/sqlite/*.sql
var migrations embed.FS

// versionTable is where goose keeps which migrations have run.
const versionTable = "goose_db_version"

// NewerSchemaError says that a newer program has changed the schema; this one would not understand the rows.
type NewerSchemaError struct {
	Path    string
	Version int64 // of the database
	Known   int64 // the newest that this program knows
}

func (e *NewerSchemaError) Error() string {
	return fmt.Sprintf("the database %s has schema version %d, and this program knows versions up to %d: use the newer program",
		e.Path, e.Version, e.Known)
}

// migrate brings the schema up to date. The caller holds the lock file: goose itself does not keep two starters apart.
func migrate(ctx context.Context, db *gorm.DB, path string, log *slog.Logger) error {
	folder, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	if err := refuseForeign(ctx, db); err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, pool, folder,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()), goose.WithTableName(versionTable))
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	version, known, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the schema version: %w", err)
	}
	if version > known {
		return &NewerSchemaError{Path: path, Version: version, Known: known}
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return fmt.Errorf("migrating the schema: %w", err)
	}
	if len(results) > 0 {
		log.InfoContext(ctx, "schema migrated", "database", path, "from", version, "to", known)
	}
	return nil
}

// refuseForeign keeps the migrations out of a database that another program made.
func refuseForeign(ctx context.Context, db *gorm.DB) error {
	var found struct{ Tables, Ours int }
	err := db.WithContext(ctx).Raw(`SELECT count(*) AS tables, coalesce(sum(name = ?), 0) AS ours
		FROM sqlite_schema WHERE type = 'table'`, versionTable).Scan(&found).Error
	if err != nil {
		return fmt.Errorf("reading the schema: %w", err)
	}
	if found.Tables > 0 && found.Ours == 0 {
		return fmt.Errorf("it is a database of another program, with %d tables and none of them from reax", found.Tables)
	}
	return nil
}
