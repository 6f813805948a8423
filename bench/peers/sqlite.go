package peers

import (
	"database/sql"
	"fmt"
	"io/fs"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3" // the driver that reax uses too
)

// openSQLite opens a database as the documentation of those libraries says: one connection, WAL, a busy timeout.
func openSQLite(s settings) (*sql.DB, error) {
	synchronous := "NORMAL"
	if s.strict {
		synchronous = "FULL"
	}
	db, err := sql.Open("sqlite3", fmt.Sprintf("file:%s?_journal=WAL&_timeout=5000&_fk=true&_txlock=immediate&_synchronous=%s",
		filepath.Join(s.dir, "peer.db"), synchronous))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	return db, nil
}

// folderBytes is the size of all files in a folder.
func folderBytes(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
