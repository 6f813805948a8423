package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	callTimeout    = 60 * time.Second
	maxAnswerBytes = 64 << 20
	apiPath        = "/api/v1"
)

// serverFlags say which server a command talks to, and how it prints the answer.
type serverFlags struct {
	URL    string `name:"url" from:"REAX_URL" placeholder:"URL" help:"The server; without it, the one whose socket is beside the database."`
	Token  string `from:"REAX_TOKEN" secret:"" placeholder:"TOKEN" help:"The token that the server asks for; none is needed on the socket."`
	DB     string `name:"db" from:"REAX_DB" placeholder:"FILE" help:"The database whose server is meant; ./reax.db."`
	Config string `from:"REAX_CONFIG" placeholder:"FILE" help:"The configuration file that names the database; ./reax.yaml if there is one."`
	JSON   bool   `name:"json" help:"Print the server's JSON as it is."`
}

// client calls the API of one server.
type client struct {
	base  string
	token string
	http  *http.Client
	where string // for messages: the address or the socket
	trace string // the traceparent of who runs the command; empty when there is none
}

// databaseOf finds the database file by flag, configuration file or default, in this order. Problems elsewhere in the
// file are no concern of a command that only wants to know where the database is.
func databaseOf(flag, config string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	cfg, _, err := readConfig(config)
	if err != nil {
		return "", err
	}
	return cmp.Or(cfg.Database, defaultDatabase), nil
}

// connect makes a client; whether a server is there is seen at the first call.
func (f serverFlags) connect() (*client, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	c := &client{token: f.Token, http: &http.Client{
		Transport: transport,
		// A redirect could lead the token and the task elsewhere, and the API never sends one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if f.URL != "" {
		u, err := url.Parse(f.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, usagef("%q is not the address of a server, such as http://%s", f.URL, defaultAddr)
		}
		transport.Proxy = http.ProxyFromEnvironment
		c.base, c.where = strings.TrimRight(f.URL, "/"), f.URL
		return c, nil
	}
	database, err := databaseOf(f.DB, f.Config)
	if err != nil {
		return nil, err
	}
	path, err := socketBeside(database)
	if err != nil {
		return nil, err
	}
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, path) }
	c.base, c.where = "http://reax", shortPath(path)
	return c, nil
}

// shortPath is path as seen from the current folder, if it is in it.
func shortPath(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(here); err == nil {
		here = real
	}
	if short, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// apiError is the server's refusal, or an answer that is none of reax's.
type apiError struct {
	Status int
	Body   json.RawMessage // the problem details; nil when the answer was not JSON
	Detail string          `json:"detail"`
	Title  string          `json:"title"`
	Code   string          `json:"code"`
	Errors []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
	} `json:"errors"`
}

func (e *apiError) Error() string {
	text := cmp.Or(e.Detail, e.Title, fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status)))
	if len(e.Errors) == 1 && strings.Contains(text, e.Errors[0].Message) {
		return text
	}
	for _, f := range e.Errors {
		text += "\n  " + strings.TrimPrefix(f.Location+": ", ": ") + f.Message
	}
	return text
}

// unreachableError means that no server answered: nothing is known of what became of the call.
type unreachableError struct {
	text string
	err  error
}

func (e *unreachableError) Error() string { return e.text }
func (e *unreachableError) Unwrap() error { return e.err }

// call sends one request. A body that is not nil is sent as JSON. The answer is JSON as the server wrote it; null when it
// has none.
func (c *client) call(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, error) {
	answer, status, err := c.exchange(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	if status == http.StatusNoContent {
		return json.RawMessage("null"), nil
	}
	if status >= 200 && status < 300 && json.Valid(answer) {
		return answer, nil
	}
	refusal := &apiError{Status: status}
	if json.Unmarshal(answer, refusal) == nil {
		refusal.Body = answer
	}
	refusal.Status = status
	if status >= 200 && status < 300 {
		refusal.Detail = fmt.Sprintf("what answers at %s is not a reax server", c.where)
	}
	return nil, refusal
}

// get is call for what only reads.
func (c *client) get(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	return c.call(ctx, http.MethodGet, path, query, nil)
}

func (c *client) exchange(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, int, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var content io.Reader
	if body != nil {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false) // parameters go out as they were written
		if err := encoder.Encode(body); err != nil {
			return nil, 0, fmt.Errorf("writing the request: %w", err)
		}
		content = &text
	}
	address := c.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return nil, 0, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("User-Agent", "reax/"+Version)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.trace != "" {
		req.Header.Set("Traceparent", c.trace)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, 0, c.unreachable(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	switch {
	case err != nil:
		return nil, 0, c.unreachable(err)
	case len(answer) > maxAnswerBytes:
		return nil, 0, fmt.Errorf("the answer of the server is longer than %d bytes", maxAnswerBytes)
	}
	return bytes.TrimRight(answer, "\r\n"), resp.StatusCode, nil
}

// unreachable says in words why no answer came.
func (c *client) unreachable(err error) error {
	text := fmt.Sprintf("the server at %s did not answer: %v", c.where, rootCause(err))
	switch {
	case c.base == "http://reax" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)):
		text = fmt.Sprintf("no server is running on %s: start one with `reax serve`", c.where)
	case c.base == "http://reax" && errors.Is(err, fs.ErrPermission):
		text = fmt.Sprintf("you may not use %s: it is for the user who runs the server", c.where)
	case errors.Is(err, syscall.ECONNREFUSED):
		text = fmt.Sprintf("no server is running at %s", c.where)
	case errors.Is(err, context.DeadlineExceeded):
		text = fmt.Sprintf("the server at %s did not answer in time", c.where)
	}
	return &unreachableError{text, err}
}

// rootCause leaves out the request's address, which the messages name themselves.
func rootCause(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// finish prints a refusal as the server's JSON when JSON was asked for, beside the message that the error becomes.
func (f serverFlags) finish(a *app, err error) error {
	if refusal, ok := errors.AsType[*apiError](err); ok && f.JSON && refusal.Body != nil {
		fmt.Fprintf(a.stdout, "%s\n", refusal.Body)
	}
	return err
}
