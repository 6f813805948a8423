package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is a database server on loopback, with data of its own.
type server struct {
	addr string
	data string
	pid  int
	stop func()
}

// freePort asks the system for a port that nobody has.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// launch starts a program that ends with the signal when stop is called.
func launch(cmd *exec.Cmd, end os.Signal) (server, error) {
	log, err := os.Create(filepath.Join(filepath.Dir(cmd.Dir), filepath.Base(cmd.Path)+".log"))
	if err != nil {
		return server{}, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return server{}, errors.Join(err, log.Close())
	}
	stop := func() {
		_ = cmd.Process.Signal(end)
		_ = cmd.Wait()
		_ = log.Close()
	}
	return server{pid: cmd.Process.Pid, data: cmd.Dir, stop: stop}, nil
}

// ready tries until the server answers.
func (s *server) ready(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			s.stop()
			return fmt.Errorf("waiting for the server: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// startRedis starts Redis with an append-only file; fsync is "always" or "everysec".
func startRedis(ctx context.Context, dir, fsync string) (server, error) {
	data := filepath.Join(dir, "redis")
	if err := os.Mkdir(data, 0o700); err != nil {
		return server{}, err
	}
	port, err := freePort()
	if err != nil {
		return server{}, err
	}
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", data, "--save", "",
		"--appendonly", "yes", "--appendfsync", fsync)
	cmd.Dir = data
	s, err := launch(cmd, syscall.SIGTERM)
	if err != nil {
		return server{}, fmt.Errorf("starting redis-server: %w", err)
	}
	s.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	return s, s.ready(ctx, func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// postgresPrograms is where the distribution has PostgreSQL's programs.
func postgresPrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		return "", errors.New("PostgreSQL is not installed")
	}
	return slices.Max(found), nil
}

// startPostgres makes a cluster and starts it. As PostgreSQL refuses to run as root, root runs it as the user postgres.
func startPostgres(ctx context.Context, dir string) (server, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return server{}, err
	}
	data := filepath.Join(dir, "postgres")
	if err := os.Mkdir(data, 0o700); err != nil {
		return server{}, err
	}
	var as *syscall.SysProcAttr
	if os.Getuid() == 0 {
		if as, err = asPostgres(data); err != nil {
			return server{}, err
		}
	}
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--no-sync", "--auth", "trust", "--username", "postgres", "--encoding", "UTF8", "--locale", "C", data)
	initdb.SysProcAttr, initdb.Dir = as, data
	if out, err := initdb.CombinedOutput(); err != nil {
		return server{}, fmt.Errorf("initdb: %w: %s", err, out)
	}
	port, err := freePort()
	if err != nil {
		return server{}, err
	}
	cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-k", data,
		"-c", "max_connections=200", "-c", "shared_buffers=512MB", "-c", "max_wal_size=4GB", "-c", "fsync=on", "-c", "synchronous_commit=on")
	cmd.SysProcAttr, cmd.Dir = as, data
	s, err := launch(cmd, syscall.SIGINT)
	if err != nil {
		return server{}, fmt.Errorf("starting postgres: %w", err)
	}
	s.addr = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	return s, s.ready(ctx, func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, s.addr)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

// asPostgres makes the user postgres the owner of a folder, and says how to run as that user.
func asPostgres(folder string) (*syscall.SysProcAttr, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	if err := os.Chown(folder, int(uid), int(gid)); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}
