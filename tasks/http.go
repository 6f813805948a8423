package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// HTTP calls an endpoint for each task: a POST with the parameters as JSON, byte for byte.
//
// Beside Headers the request has X-Reax-Task-Id, X-Reax-Type, X-Reax-Attempt, traceparent, and Idempotency-Key, which is
// the task's trace id and the same on each attempt. An attempt sends the request once; it is not repeated behind the
// runtime's back when a connection breaks.
//
// With a Secret the request is signed: X-Reax-Signature is "t=<Unix seconds>,v1=<hex>", where hex is the HMAC-SHA256,
// keyed with the secret, of the text "<Unix seconds>.<body>". To verify, compute the same over the raw body, compare in
// constant time, and refuse a time more than some minutes away.
//
// 2xx is success and the body the result: JSON as it is, other text as a JSON string, nothing as no result. 408, 425,
// 429, 5xx and network errors are marked as worth a retry, at the time that Retry-After names, if within 24 hours. Any
// other answer is permanent. Redirects are followed only when they keep the method (307, 308), the scheme and the host.
// The deadline is that of the run. Where requests may go, HostRules says. HTTP_PROXY, HTTPS_PROXY and NO_PROXY are obeyed, as by curl; localhost is never
// proxied.
type HTTP struct {
	URL     string            // http or https, without user and password
	Headers map[string]string // may hold secrets: their values appear in no error
	Secret  string            // key of the signature; empty means unsigned
	Hosts   []HostRules       // where it may go; all of them must be kept

	ContentType string // of the body; empty is application/json

	guard  *hostGuard
	client *http.Client
}

const (
	maxURL         = 2 << 10
	maxHeaders     = 64
	maxHeaderValue = 8 << 10
	maxRedirects   = 5
	userAgent      = "reax/1"
)

// ownHeaders are set by reax or by the protocol; so is whatever begins with X-Reax- or Proxy-.
var ownHeaders = map[string]bool{
	"Connection": true, "Content-Encoding": true, "Content-Length": true, "Content-Type": true, "Expect": true,
	"Host": true, "Idempotency-Key": true, "X-Idempotency-Key": true, "Keep-Alive": true, "Te": true,
	"Traceparent": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true, "User-Agent": true,
}

// Validate reports what can not work in h, so that the program finds it at its start. The error holds no header value.
func (h HTTP) Validate() error {
	target, err := parseEndpoint(h.URL)
	if err != nil {
		return fmt.Errorf("http: url: %w", err)
	}
	if len(h.Headers) > maxHeaders {
		return fmt.Errorf("http: headers: more than %d", maxHeaders)
	}
	guard, err := newHostGuard(h.Hosts)
	if err != nil {
		return fmt.Errorf("http: %w", err)
	}
	if err := guard.checkURL(target); err != nil {
		return fmt.Errorf("http: url: %w", err)
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		value, canonical := h.Headers[name], textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !isToken(name):
			return fmt.Errorf("http: headers: %q is not a header's name", name)
		case ownHeaders[canonical], strings.HasPrefix(canonical, "X-Reax-"), strings.HasPrefix(canonical, "Proxy-"):
			return fmt.Errorf("http: headers: %s is set by reax", canonical)
		case seen[canonical]:
			return fmt.Errorf("http: headers: %s is given twice", canonical)
		case len(value) > maxHeaderValue:
			return fmt.Errorf("http: headers: the value of %s is longer than %d bytes", canonical, maxHeaderValue)
		case strings.ContainsFunc(value, isControl):
			return fmt.Errorf("http: headers: the value of %s holds a control character", canonical)
		}
		seen[canonical] = true
	}
	return nil
}

// parseEndpoint takes only what a POST can be sent to. The error does not hold the address: its query may be secret.
func parseEndpoint(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("longer than %d bytes", maxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("not a URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("only http:// and https:// are possible")
	case u.Hostname() == "":
		return nil, errors.New("the host is missing")
	case u.User != nil:
		return nil, errors.New("user and password do not belong in it; use a header")
	case u.Fragment != "":
		return nil, errors.New("a fragment (#) is never sent")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, errors.New("the port is not between 1 and 65535")
		}
	}
	return u, nil
}

func isToken(name string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	return name != "" && len(name) <= 256 && !strings.ContainsFunc(name, func(r rune) bool {
		alphanumeric := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !alphanumeric && !strings.ContainsRune(marks, r)
	})
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// Post sends a body as a run of an HTTP type does, and gives the result and the error as one would. h must be valid.
func (h HTTP) Post(ctx context.Context, body []byte) (json.RawMessage, error) {
	return h.handler()(ctx, body)
}

func (h HTTP) handler() Handler {
	h.Headers = maps.Clone(h.Headers)
	h.guard, _ = newHostGuard(h.Hosts) // Validate has said what is wrong
	h.client = clientFor(h.Hosts, h.guard)
	return func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
		answer, err := h.send(ctx, params)
		if err != nil {
			return nil, h.failed(ctx, err)
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode >= 200 && answer.StatusCode <= 299 {
			result, err := readResult(answer.Body)
			if err != nil {
				return nil, h.failed(ctx, fmt.Errorf("the answer broke off: %w", err))
			}
			return result, nil
		}
		refusal := h.refusal(answer, time.Now())
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), refusal)
		}
		return nil, refusal
	}
}
