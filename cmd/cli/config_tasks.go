package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"reax/tasks"
)

const (
	maxSecretBytes = 64 << 10
	maxExitCode    = 255
)

// taskConfig is one task type as the configuration file describes it.
type taskConfig struct {
	tasks.External
	Line    int
	Bad     bool // a problem was found in it already
	Command *tasks.Command
	HTTP    *tasks.HTTP

	secretEnv, secretFile string // where the secret of HTTP is, when it is not in the file
}

// parseTask reads tasks.<name>.
func parseTask(name, dir string, v value) taskConfig {
	before := v.doc.faults
	t := taskConfig{External: tasks.External{Name: name, Policy: tasks.DefaultPolicy()}, Line: v.line}
	policy := &t.Policy
	var command tasks.Command
	commandOnly := map[string]value{} // keys that make sense only beside command
	only := func(key string, read func(value)) func(value) {
		return func(v value) { commandOnly[key] = v; read(v) }
	}
	command.Dir = dir
	v.mapping(map[string]func(value){
		"command": func(v value) {
			known := v.doc.faults
			t.Command, command.Argv = &command, v.texts()
			if v.doc.faults == known && (len(command.Argv) == 0 || command.Argv[0] == "") {
				v.fail("names no program")
			}
		},
		"http":        func(v value) { t.HTTP = parseHTTP(dir, &t, v) },
		"description": func(v value) { t.Description = v.text() },
		"timeout":     func(v value) { policy.Timeout = v.duration(true, tasks.MaxTimeout) },
		"max_retries": func(v value) { policy.MaxRetries = v.whole(0, tasks.MaxRetriesCap) },
		"backoff": func(v value) {
			v.mapping(map[string]func(value){
				"base": func(v value) { policy.BackoffBase = v.duration(false, tasks.MaxBackoff) },
				"max":  func(v value) { policy.BackoffMax = v.duration(false, tasks.MaxBackoff) },
			})
			if policy.BackoffMax < policy.BackoffBase {
				v.fail("max (%s) is shorter than base (%s)", formatDuration(policy.BackoffMax), formatDuration(policy.BackoffBase))
			}
		},
		"priority":    func(v value) { policy.Priority = v.whole(1, 10) },
		"concurrency": func(v value) { policy.Concurrency = v.whole(1, tasks.MaxConcurrency) },
		"on_crash":    func(v value) { policy.OnCrash = tasks.CrashPolicy(v.oneOf(string(tasks.Requeue), string(tasks.Hold))) },
		"retry":       func(v value) { policy.RetryOnlyMarked = v.oneOf("any", "marked") == "marked" },
		"params":      func(v value) { t.Params = v.json() },
		"dir":         only("dir", func(v value) { command.Dir = inDir(dir, v.text()) }),
		"env":         only("env", func(v value) { command.Env = v.textMap() }),
		"permanent_exit_codes": only("permanent_exit_codes", func(v value) {
			for _, code := range v.list() {
				command.PermanentExitCodes = append(command.PermanentExitCodes, code.whole(1, maxExitCode))
			}
		}),
	})
	switch {
	case t.Command == nil && t.HTTP == nil:
		v.fail("says neither command nor http: one of them is needed")
	case t.Command != nil && t.HTTP != nil:
		v.fail("says both command and http: one of them is needed")
	case t.HTTP != nil:
		for _, item := range commandOnly {
			item.fail("is only for a command")
		}
	}
	t.Bad = v.doc.faults > before
	return t
}

// parseHTTP reads the http section of a task type.
func parseHTTP(dir string, t *taskConfig, v value) *tasks.HTTP {
	var h tasks.HTTP
	var secrets []value
	known := v.doc.faults
	secret := func(read func(value)) func(value) {
		return func(v value) { secrets = append(secrets, v); read(v) }
	}
	v.mapping(map[string]func(value){
		"url":         func(v value) { h.URL = v.text() },
		"headers":     func(v value) { h.Headers = v.textMap() },
		"secret":      secret(func(v value) { h.Secret = v.text() }),
		"secret_env":  secret(func(v value) { t.secretEnv = v.text() }),
		"secret_file": secret(func(v value) { t.secretFile = inDir(dir, v.text()) }),
	})
	if h.URL == "" && v.doc.faults == known {
		v.fail("needs a url")
	}
	if len(secrets) > 1 {
		secrets[1].fail("only one of secret, secret_env and secret_file may be given")
	}
	return &h
}

// addTo registers the type. The error names what is wrong; the caller knows where.
func (t taskConfig) addTo(r *tasks.Registry, env func(string) string) error {
	if t.Command != nil {
		return tasks.AddCommand(r, t.External, *t.Command)
	}
	h := *t.HTTP
	switch {
	case t.secretEnv != "":
		if h.Secret = env(t.secretEnv); h.Secret == "" {
			return fmt.Errorf("the environment variable %s, named by secret_env, is not set", t.secretEnv)
		}
	case t.secretFile != "":
		data, err := readLimited(t.secretFile, maxSecretBytes)
		if err != nil {
			return fmt.Errorf("reading secret_file: %w", err)
		}
		// Editors end a file with a new line, which nobody means as part of a secret.
		if h.Secret = strings.TrimRight(string(data), "\r\n"); h.Secret == "" {
			return fmt.Errorf("secret_file %s is empty", t.secretFile)
		}
	}
	return tasks.AddHTTP(r, t.External, h)
}

// warning says what would keep the type's command from starting on this machine, or "" when nothing does. It is no
// error: the program may be installed, or the folder mounted, later.
func (t taskConfig) warning() string {
	if t.Command == nil {
		return ""
	}
	if info, err := os.Stat(t.Command.Dir); err != nil || !info.IsDir() {
		return fmt.Sprintf("the folder %s does not exist", t.Command.Dir)
	}
	program, folders := t.Command.Argv[0], []string{""}
	if strings.Contains(program, "/") {
		program = inDir(t.Command.Dir, program)
	} else if path, ok := t.Command.Env["PATH"]; ok {
		folders = filepath.SplitList(path)
	}
	for _, folder := range folders {
		if _, err := exec.LookPath(filepath.Join(folder, program)); err == nil {
			return ""
		}
	}
	return fmt.Sprintf("the program %s was not found, or cannot be executed", program)
}

// json gives a part of the document as JSON, with keys in their order and numbers with all their digits.
func (v value) json() json.RawMessage {
	var out jsonWriter
	out.value(v)
	return json.RawMessage(out.Bytes())
}
