package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

	secret  secretText            // of HTTP
	headers map[string]secretText // of HTTP
	env     map[string]secretText // of Command
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
		"env":         only("env", func(v value) { t.env = v.secretTexts(dir) }),
		"permanent_exit_codes": only("permanent_exit_codes", func(v value) {
			for _, code := range v.list() {
				command.PermanentExitCodes = append(command.PermanentExitCodes, code.whole(1, maxExitCode))
			}
		}),
	})
	if name == tasks.NoticeType {
		v.fail("the name is reserved: reax sends messages about alerts by it")
	}
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
	var rules tasks.HostRules
	fields := v.hostRules(&rules)
	maps.Copy(fields, map[string]func(value){
		"url":         func(v value) { h.URL = v.text() },
		"headers":     func(v value) { t.headers = v.secretTexts(dir) },
		"secret":      secret(func(v value) { t.secret = v.secretText(dir) }),
		"secret_env":  secret(func(v value) { t.secret = secretText{env: v.text(), at: v} }),
		"secret_file": secret(func(v value) { t.secret = secretText{file: inDir(dir, v.text()), at: v} }),
	})
	v.mapping(fields)
	h.Hosts = append(h.Hosts, rules)
	if h.URL == "" && v.doc.faults == known {
		v.fail("needs a url")
	}
	if len(secrets) > 1 {
		secrets[1].fail("only one of secret, secret_env and secret_file may be given")
	}
	return &h
}

// addTo registers the type. outbound is where all HTTP types may go. The error names what is wrong; the caller knows where.
func (t taskConfig) addTo(r *tasks.Registry, outbound tasks.HostRules, env func(string) string) (err error) {
	if t.Command != nil {
		c := *t.Command
		if c.Env, err = resolveTexts("env", t.env, env); err != nil {
			return err
		}
		return tasks.AddCommand(r, t.External, c)
	}
	h := *t.HTTP
	h.Hosts = append(slices.Clone(h.Hosts), outbound)
	if h.Headers, err = resolveTexts("http.headers", t.headers, env); err != nil {
		return err
	}
	if h.Secret, err = t.secret.resolve("http.secret", env); err != nil {
		return err
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
	} else if path := t.env["PATH"]; path.text != "" {
		folders = filepath.SplitList(path.text)
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
