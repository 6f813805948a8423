package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// The parameters of every task: 60 bytes, with the number of the task where a handler finds it without reading JSON.
const (
	bodyHead   = `{"user_id":1001,"date":"2026-11-29","seq":"`
	bodyDigits = 15
	bodyTail   = `"}`
)

func newBody(n int64) []byte { return fmt.Appendf(nil, "%s%0*d%s", bodyHead, bodyDigits, n, bodyTail) }

// number is that of the task with these parameters; -1 when they are not ours. A system may have put the members in
// another order, as PostgreSQL does.
func number(body []byte) int64 {
	_, rest, _ := bytes.Cut(body, []byte(`"seq"`))
	_, rest, _ = bytes.Cut(rest, []byte(`"`))
	digits, _, found := bytes.Cut(rest, []byte(`"`))
	if !found {
		return -1
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// rawArgs are parameters for systems that read them into a type.
type rawArgs struct{ body json.RawMessage }

// MarshalJSON gives the parameters as they came.
func (a rawArgs) MarshalJSON() ([]byte, error) { return a.body, nil }

// UnmarshalJSON keeps the parameters as they are.
func (a *rawArgs) UnmarshalJSON(body []byte) error {
	a.body = append(a.body[:0], body...)
	return nil
}
