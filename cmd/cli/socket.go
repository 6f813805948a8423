package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socketName is the socket beside a database. Who may write to it is the server's admin: no token is asked for there.
const socketName = "reax.sock"

// maxSocketPath is what fits into the address of a socket with its closing zero, on every system reax builds for.
const maxSocketPath = 103

const socketDialTimeout = 5 * time.Second

// errNoSocket means that there can be no socket in a folder, as on some network file systems.
var errNoSocket = errors.New("no socket is possible there")

// socketBeside gives the path of the socket of the server on database. Links are followed, so that both sides come to
// the same folder whatever name they were given.
func socketBeside(database string) (string, error) {
	abs, err := filepath.Abs(database)
	if err != nil {
		return "", fmt.Errorf("finding the database %s: %w", database, err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return filepath.Join(filepath.Dir(real), socketName), nil
	}
	dir := filepath.Dir(abs)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.Join(dir, socketName), nil
}

// listenSocket opens the socket at path for this user alone. The caller holds the lock of the database, so a socket
// that is there already was left by a process that died, unless another database in the same folder has a server.
func listenSocket(ctx context.Context, path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("looking for an old socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is in the way: it is no socket, and reax does not remove it", path)
	default:
		conn, err := dialSocket(ctx, path)
		if err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("another server answers on %s: databases in one folder cannot have servers at the same time", path)
		}
		if !errors.Is(err, syscall.ECONNREFUSED) { // which only a socket without a process gives
			return nil, fmt.Errorf("finding out whether another server uses %s: %w", path, err)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("removing the socket that a former server left: %w", err)
		}
	}
	name, release, err := socketAddress(path)
	if err != nil {
		return nil, err
	}
	defer release()
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		// The mode is set before the name exists, so there is no moment in which others could connect.
		return conn.Control(func(fd uintptr) { _ = unix.Fchmod(int(fd), 0o600) })
	}}
	listener, err := config.Listen(ctx, "unix", name)
	if err != nil {
		return nil, fmt.Errorf("opening the socket %s: %w: %w", path, errNoSocket, err)
	}
	unixListener := listener.(*net.UnixListener)
	unixListener.SetUnlinkOnClose(false) // by the address, which may no longer lead there
	s := &socketListener{UnixListener: unixListener, path: path}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("closing the socket to others: %w", err), s.Close())
	}
	return s, nil
}

// socketListener removes its file when it closes.
type socketListener struct {
	*net.UnixListener
	path string
}

func (s *socketListener) Close() error {
	if err := s.UnixListener.Close(); err != nil {
		return err // closed already; the file may be another server's by now
	}
	return os.Remove(s.path)
}

// dialSocket connects to the socket at path.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	name, release, err := socketAddress(path)
	if err != nil {
		return nil, err
	}
	defer release()
	dialer := net.Dialer{Timeout: socketDialTimeout}
	return dialer.DialContext(ctx, "unix", name)
}

// socketAddress gives an address for path that the kernel takes. The kernel's limit is about a hundred bytes; a longer
// path is reached through an open handle on its folder. release closes that handle.
func socketAddress(path string) (address string, release func(), err error) {
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	const handles = "/proc/self/fd"
	if _, err := os.Stat(handles); err != nil {
		return "", nil, fmt.Errorf("%w: the path %s is longer than %d bytes", errNoSocket, path, maxSocketPath)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, fmt.Errorf("opening the folder of the socket: %w", err)
	}
	return fmt.Sprintf("%s/%d/%s", handles, dir.Fd(), filepath.Base(path)), func() { _ = dir.Close() }, nil
}
