// Package cli is the reax command: its subcommands, its configuration file, and the wiring of the parts into a server.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"reax/tasks"
)

// Version is what reax calls itself. A release build sets it through the linker.
var Version = "0.1.0"

// Exit codes of every command.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// grammar is the whole command line.
type grammar struct {
	Serve   serveCmd   `cmd:"" group:"Server:" help:"Run the server: the tasks, the dashboard and the API."`
	Check   checkCmd   `cmd:"" group:"Server:" help:"Check the configuration file and say all that is wrong with it."`
	Backup  backupCmd  `cmd:"" group:"Server:" help:"Copy the database into a new file, also while the server runs."`
	Version versionCmd `cmd:"" group:"Server:" help:"Print the version."`

	Enqueue enqueueCmd `cmd:"" group:"Tasks:" help:"Give the server a task to run."`
	List    listCmd    `cmd:"" group:"Tasks:" help:"List tasks, newest first unless sorted."`
	Show    showCmd    `cmd:"" group:"Tasks:" help:"Show one task with its attempts."`
	Logs    logsCmd    `cmd:"" group:"Tasks:" help:"Print what a task logged."`
	Retry   retryCmd   `cmd:"" group:"Tasks:" help:"Run tasks again: failed, dead or cancelled ones, or at once those that wait for a retry."`
	Cancel  cancelCmd  `cmd:"" group:"Tasks:" help:"Stop running tasks and keep waiting ones from starting."`
	Discard discardCmd `cmd:"" group:"Tasks:" help:"Give up on failed or dead tasks."`
	Repeat  repeatCmd  `cmd:"" group:"Tasks:" help:"Make a new task from a finished one."`

	Schedules schedulesCmd `cmd:"" group:"Tasks:" help:"List, show, change and preview schedules."`

	Types  typesCmd  `cmd:"" group:"Operation:" help:"List the task types."`
	Pause  pauseCmd  `cmd:"" group:"Operation:" help:"Stop a task type from starting tasks."`
	Resume resumeCmd `cmd:"" group:"Operation:" help:"Let a paused task type start tasks again."`
	Resize resizeCmd `cmd:"" group:"Operation:" help:"Set how many tasks of a type run at one time."`
	Alerts alertsCmd `cmd:"" group:"Operation:" help:"List alerts and alert rules, mute rules, and send test messages."`
	Status statusCmd `cmd:"" group:"Operation:" help:"Say how the server is; exit code 1 when it is not ok."`
	Actors actorsCmd `cmd:"" group:"Operation:" help:"Print the live actor tree."`

	User  userCmd  `cmd:"" group:"Access:" help:"List, make and change accounts."`
	Token tokenCmd `cmd:"" group:"Access:" help:"List, make and revoke tokens for programs."`
}

const about = "reax runs a team's background tasks from one binary and one SQLite file.\n\n" +
	"Commands other than serve, check, backup, version and schedules preview talk to a running server: the one at --url, or else the one whose " +
	"socket is beside the database. Without a server, user and token open the database themselves."

// Main runs the reax command with the process's arguments and ends the process. A team's own worker calls it with a
// function that registers its task types; the configuration file may add more.
func Main(register func(*tasks.Registry)) {
	os.Exit(Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv, register))
}

// Run runs one command and returns the exit code: 0 when it did what was asked, 1 when that failed, 2 when the command
// line made no sense. The end of ctx stops a server as SIGTERM does, and breaks off any other command.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string,
	register func(*tasks.Registry)) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, env: env, register: register}
	return a.run(ctx, args)
}

// app is what every command works with.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	register       func(*tasks.Registry)
	signals        chan os.Signal // in tests; nil means the process's own
}

// usageError is a mistake on the command line.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// errQuiet ends a command with exit code 1 when its output has said everything.
var errQuiet = errors.New("failed")

// helpShown unwinds the parser after --help, which would otherwise end the process.
type helpShown struct{}

func (a *app) run(ctx context.Context, args []string) (code int) {
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(helpShown); !ok {
				panic(v)
			}
		}
	}()
	var g grammar
	parser, err := kong.New(&g,
		kong.Name("reax"), kong.Description(about),
		kong.Writers(a.stdout, a.stderr),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.Resolvers(kong.ResolverFunc(a.resolve)),
		kong.ValueFormatter(helpText),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(a),
	)
	if err != nil {
		fmt.Fprintln(a.stderr, "reax:", err)
		return exitFailed
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(a.stderr, "reax: %s\nTry \"reax --help\".\n", cleanLine(err.Error()))
		return exitUsage
	}
	return a.exit(parsed.Run())
}

// exit reports a command's error and turns it into the exit code.
func (a *app) exit(err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errQuiet) {
		return exitFailed
	}
	if found, ok := errors.AsType[problems](err); ok {
		fmt.Fprintln(a.stderr, cleanLines(found.Error()))
		return exitFailed
	}
	fmt.Fprintln(a.stderr, "reax: "+cleanLines(err.Error()))
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	return exitFailed
}

// resolve gives a flag that was not on the command line the value of the environment variable in its "from" tag, or for a
// secret what is in the file that its _FILE variable names. The
// parser's own env tag reads the process's environment, which tests must not.
func (a *app) resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if name := flag.Tag.Get("from"); name != "" {
		v, path := a.env(name), ""
		if flag.Tag.Has("secret") {
			path = a.env(name + "_FILE")
		}
		switch {
		case v != "" && path != "":
			return nil, fmt.Errorf("both %s and %s_FILE are set: one of them is needed", name, name)
		case path != "":
			return readSecretFile(path)
		case v != "":
			return v, nil
		}
	}
	return nil, nil
}

// helpText adds the environment variable to a flag's help.
func helpText(v *kong.Value) string {
	help := strings.TrimSuffix(v.Help, ".")
	if name := v.Tag.Get("from"); name != "" {
		if v.Tag.Has("secret") {
			name += " or " + name + "_FILE"
		}
		return help + " (or " + name + ")."
	}
	return help + "."
}

type versionCmd struct{}

func (versionCmd) Run(a *app) error {
	fmt.Fprintln(a.stdout, "reax", Version)
	return nil
}
