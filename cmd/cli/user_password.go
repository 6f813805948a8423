package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// maxPasswordLine is more than any password may have, in bytes.
const maxPasswordLine = 4 << 10

// newPassword reads a new password: from the first line of the standard input, or twice from the terminal without showing
// it. Whether it is good enough is for the server to say.
func (a *app) newPassword(fromStdin bool) (string, error) {
	if fromStdin {
		line, err := bufio.NewReader(io.LimitReader(a.stdin, maxPasswordLine)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("reading the password: %w", err)
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line == "" {
			return "", errors.New("there is no password on the standard input")
		}
		return line, nil
	}
	file, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return "", usagef("a password is asked for on a terminal; elsewhere use --password-stdin")
	}
	first, err := a.readSecret(file, "Password: ")
	if err != nil {
		return "", err
	}
	second, err := a.readSecret(file, "The same again: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", errors.New("the two passwords are not the same; nothing was changed")
	}
	return first, nil
}

// readSecret asks for a line that the terminal does not show. Ctrl-C gives the terminal its echo back before it ends the
// program.
func (a *app) readSecret(file *os.File, prompt string) (string, error) {
	fd := int(file.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("reading the password: %w", err)
	}
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	defer func() {
		signal.Stop(broken)
		close(done)
	}()
	go func() {
		select {
		case <-broken:
			_ = term.Restore(fd, before)
			fmt.Fprintln(a.stderr)
			os.Exit(exitFailed)
		case <-done:
		}
	}()
	fmt.Fprint(a.stderr, prompt)
	secret, err := term.ReadPassword(fd)
	fmt.Fprintln(a.stderr)
	if err != nil {
		return "", fmt.Errorf("reading the password: %w", err)
	}
	return string(secret), nil
}
