package cli

import (
	"context"
	"fmt"

	"reax/models"
)

type backupCmd struct {
	File   string `arg:"" help:"The file to write; it must not exist."`
	Config string `from:"REAX_CONFIG" placeholder:"FILE" help:"The configuration file that names the database."`
	DB     string `name:"db" from:"REAX_DB" placeholder:"FILE" help:"The database file; ./reax.db."`
}

// Run copies the database as it is at one moment. It reads beside a running server and takes no lock from it.
func (c *backupCmd) Run(ctx context.Context, a *app) error {
	database, err := databaseOf(c.DB, c.Config)
	if err != nil {
		return err
	}
	size, err := models.Backup(ctx, database, c.File)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "copied %s to %s: %d bytes\n", cleanLine(database), cleanLine(c.File), size)
	return nil
}
