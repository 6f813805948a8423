package models

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Disk tells how many bytes the file system of the database has, and how many of them this process may still use. It may
// wait for as long as the file system does not answer.
func (s *Store) Disk() (free, total int64, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(s.path), &fs); err != nil {
		return 0, 0, fmt.Errorf("reading how full the disk is: %w", err)
	}
	size := uint64(fs.Bsize)
	return int64(fs.Bavail * size), int64(fs.Blocks * size), nil
}
