package models

import (
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm/schema"
)

// rowsOf names every struct that is a row of a table.
var rowsOf = []any{Task{}, Attempt{}, LogLine{}, TypeSetting{}, Count{}, ErrorGroup{}, MinuteStat{}, Audit{}, Boot{}, Schedule{}, Occurrence{}, BulkRun{}, BulkChange{}, BulkSkip{}, bulkSet{}, GroupMark{}, AuditHorizon{}, User{}, Session{}, Token{}, AlertRule{}, AlertMute{}, Alert{}, Incident{}, IncidentUpdate{}, DayStat{}}

// columnsOf gives the columns of a table as the migrations made it.
func columnsOf(t *testing.T, s *Store, table string) []string {
	t.Helper()
	var names []string
	require.NoError(t, s.Reader().Raw("SELECT name FROM pragma_table_info(?)", table).Scan(&names).Error)
	return names
}

func TestMigrationsAndStructsAgreeOnEveryColumn(t *testing.T) {
	s := openStore(t)
	var tables []string
	require.NoError(t, s.Reader().Raw(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> ?`,
		versionTable).Scan(&tables).Error)
	var known []string
	for _, model := range rowsOf {
		parsed, err := schema.Parse(model, &sync.Map{}, s.Reader().NamingStrategy)
		require.NoError(t, err)
		known = append(known, parsed.Table)
		require.ElementsMatch(t, columnsOf(t, s, parsed.Table), parsed.DBNames, parsed.Table)
		var keys []string
		require.NoError(t, s.Reader().Raw("SELECT name FROM pragma_table_info(?) WHERE pk > 0", parsed.Table).Scan(&keys).Error)
		require.ElementsMatch(t, keys, parsed.PrimaryFieldDBNames, parsed.Table)
		for _, field := range parsed.Fields {
			if field.DBName == "" {
				continue
			}
			var kind string
			require.NoError(t, s.Reader().Raw("SELECT type FROM pragma_table_info(?) WHERE name = ?", parsed.Table, field.DBName).Scan(&kind).Error)
			want := "INTEGER"
			if field.FieldType.Kind() == reflect.String || field.FieldType == reflect.TypeFor[Histogram]() {
				want = "TEXT"
			}
			require.Equal(t, want, kind, "%s.%s", parsed.Table, field.DBName)
		}
	}
	require.ElementsMatch(t, tables, known)
}

func TestNullColumnsReadAsZero(t *testing.T) {
	s := openStore(t)
	seedTasks(t, s, row{})
	var nullable []string
	require.NoError(t, s.Reader().Raw("SELECT name FROM pragma_table_info('tasks') WHERE \"notnull\" = 0 AND pk = 0").Scan(&nullable).Error)
	require.NotEmpty(t, nullable)
	task, err := s.Task(t.Context(), 1)
	require.NoError(t, err)
	parsed, err := schema.Parse(&task, &sync.Map{}, s.Reader().NamingStrategy)
	require.NoError(t, err)
	for _, column := range nullable {
		require.Zero(t, reflect.ValueOf(task).FieldByName(parsed.LookUpField(column).Name).Interface(), column)
	}
}

func TestWideColumnsComeLast(t *testing.T) {
	s := openStore(t)
	columns := columnsOf(t, s, "tasks")
	require.Equal(t, []string{"error", "result", "params"}, columns[len(columns)-3:])
}

func TestOlderProgramRefusesANewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reax.db")
	s := openStoreAt(t, path)
	require.NoError(t, s.Writer().Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)").Error)
	require.NoError(t, s.Close())
	for range 2 {
		_, err := Open(t.Context(), Config{Path: path, Logger: silent})
		var newer *NewerSchemaError
		require.ErrorAs(t, err, &newer)
		require.Equal(t, int64(99), newer.Version)
		require.Equal(t, newer.Error(), err.Error())
		require.Contains(t, err.Error(), "schema version 99, and this program knows versions up to ")
	}
}

func TestSecondOpenMigratesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reax.db")
	s := openStoreAt(t, path)
	versions := func(s *Store) (all []int64) {
		require.NoError(t, s.Reader().Raw("SELECT version_id FROM goose_db_version ORDER BY id").Scan(&all).Error)
		return all
	}
	first := versions(s)
	require.NoError(t, s.Close())
	second := versions(openStoreAt(t, path))
	require.Equal(t, first, second)
	require.True(t, slices.IsSorted(first))
}
