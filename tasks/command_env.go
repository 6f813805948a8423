package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxVariable   = 128 << 10 // the kernel takes no longer string, name and end mark included
	maxParamsEnv  = 512 << 10 // of all REAX_PARAM_ variables together
	envSlack      = 16 << 10  // for the program's path and what the kernel itself puts beside the environment
	stringPointer = 8         // the kernel counts one for each string
)

// build makes the program's start from the run. It does not start it.
func (c Command) build(run *Run, params json.RawMessage) (*exec.Cmd, error) {
	if c.Dir != "" {
		// Checked here, since a start in a missing folder gives the same error as a missing program.
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
			return nil, Permanent(fmt.Errorf("the command's folder %s does not exist", c.Dir))
		}
	}
	program, err := c.findProgram()
	if err != nil {
		return nil, err
	}

	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "REAX_") || strings.HasPrefix(kv, "TRACEPARENT=")
	})
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, name+"="+c.Env[name])
	}
	env = append(env,
		"REAX_TASK_ID="+strconv.FormatInt(run.TaskID, 10),
		"REAX_TRACE_ID="+run.TraceID,
		"REAX_ATTEMPT="+strconv.Itoa(run.Attempt),
		"REAX_TYPE="+run.Type)
	if parent := run.traceparent(); parent != "" {
		env = append(env, "TRACEPARENT="+parent)
	}
	if session, err := unix.Getsid(0); err == nil && run.Ledger != "" {
		env = append(env, strayVariable+"="+serverMark(session, run.Ledger))
	}
	env = append(env, paramsEnv(params, maxStrings()-stringsSize(env)-stringsSize(c.Argv)-envSlack)...)
	return &exec.Cmd{Path: program, Args: c.Argv, Env: env, Dir: c.Dir}, nil
}

// findProgram looks a bare name up in the command's own PATH, as execvp does. Relative folders in it are passed over:
// what they mean would depend on where the server was started.
func (c Command) findProgram() (string, error) {
	name := c.Argv[0]
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.Dir, name)
		}
		return filepath.Abs(name)
	}
	path, ok := c.Env["PATH"]
	if !ok {
		path = os.Getenv("PATH")
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		program := filepath.Join(dir, name)
		if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return program, nil
		}
	}
	return "", Permanent(fmt.Errorf("the program %q was not found in PATH", name))
}

// paramsEnv gives each parameter as a REAX_PARAM_<NAME> variable, in the order of the names, as far as room bytes
// allow. Left out is what no variable can hold (NUL, over 128 KiB), a name without a letter or digit, and a name whose
// variable is taken; stdin has them all.
func paramsEnv(params json.RawMessage, room int) []string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(params, &fields) != nil {
		return nil
	}
	room = min(room, maxParamsEnv)
	var env []string
	taken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		variable, ok := variableName(name)
		value := variableValue(fields[name])
		size := len(variable) + len(value) + 2
		if !ok || taken[variable] || strings.ContainsRune(value, 0) || size > maxVariable || size+stringPointer > room {
			continue
		}
		taken[variable] = true
		room -= size + stringPointer
		env = append(env, variable+"="+value)
	}
	return env
}

func variableName(name string) (variable string, ok bool) {
	upper := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			ok = true
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
			ok = true
			return r
		}
		return '_'
	}, name)
	return "REAX_PARAM_" + upper, ok
}

// variableValue gives a string without its quotes, null as nothing, and anything else as its JSON, digits unchanged.
func variableValue(raw json.RawMessage) string {
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return text
	}
	if string(raw) == "null" {
		return ""
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, raw)
	return compact.String()
}

// maxStrings is how many bytes of arguments and environment the kernel takes: a quarter of the stack, within bounds.
func maxStrings() int {
	const least, most = 128 << 10, 6 << 20
	var stack unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_STACK, &stack) != nil {
		return least
	}
	return int(min(max(stack.Cur/4, least), most))
}

func stringsSize(list []string) (size int) {
	for _, s := range list {
		size += len(s) + 1 + stringPointer
	}
	return size
}
