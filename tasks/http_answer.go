package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxAnswer     = 1 << 20  // of a result's body that is read
	maxTextResult = 64 << 10 // of a longer body, which is kept in part
	maxRefusal    = 64 << 10 // of another answer's body that is read
	maxErrorBody  = 2 << 10  // of it, in the error
	maxRetryAfter = 24 * time.Hour
	minRedacted   = 6 // a shorter header value, such as "ops", says nothing and would deface any text
)

// readResult makes the result from the body of a 2xx answer. The error is that of the connection.
func readResult(body io.Reader) (json.RawMessage, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(string(data))
	switch {
	case len(data) > maxAnswer:
		text = fmt.Sprintf("%s (the answer is longer than %d bytes; the rest was left out)",
			cleanText(string(data), maxTextResult), maxAnswer)
	case text == "":
		return nil, nil
	case utf8.Valid(data) && json.Valid(data):
		return data, nil
	}
	return json.Marshal(text)
}

// refusal turns an answer that is not 2xx into the run's error.
func (h HTTP) refusal(answer *http.Response, now time.Time) error {
	// What can not be read of the body is missing in the text, no more: the status says what matters.
	data, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
	err := errors.New("the endpoint answered " + status(answer.StatusCode))
	if body := strings.TrimSpace(h.redact(string(data))); body != "" {
		err = fmt.Errorf("%w: %s", err, cleanText(body, maxErrorBody))
	}
	code := answer.StatusCode
	switch {
	case code >= 300 && code <= 399:
		return Permanent(fmt.Errorf("%w (such a redirect is not followed)", err))
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		if wait := retryAfter(answer.Header.Get("Retry-After"), now); wait > 0 {
			return RetryAfter(err, wait)
		}
		return Retryable(err)
	}
	return Permanent(err)
}

// failed is the run's error when no whole answer came. The address is left out of it: its query may be secret.
func (h HTTP) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("the endpoint has not answered: %w", context.Cause(ctx))
	}
	if refused := refusedOf(err); refused != nil {
		return refused
	}
	if _, ok := errors.AsType[*permanentError](err); ok {
		return err
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return Retryable(errors.New("the endpoint could not be called: " + cleanText(h.redact(err.Error()), maxErrorBody)))
}

// retryAfter reads the header's seconds or date. Zero means that it asks for no wait, or for nothing that can be read.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if header == "" {
		return 0
	}
	if strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.ParseInt(header, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// redact takes out of text what an endpoint may send back of our own secrets.
func (h HTTP) redact(text string) string {
	if h.Secret != "" {
		text = strings.ReplaceAll(text, h.Secret, "[redacted]")
	}
	for _, value := range h.Headers {
		if value = strings.TrimSpace(value); len(value) >= minRedacted {
			text = strings.ReplaceAll(text, value, "[redacted]")
		}
	}
	return text
}

func status(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}
