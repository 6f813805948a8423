package tasks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// send posts body, and again to wherever the endpoint redirects it within its own host.
func (h HTTP) send(ctx context.Context, body []byte) (*http.Response, error) {
	target, err := parseEndpoint(h.URL)
	if err != nil {
		return nil, err
	}
	for hop := 0; ; hop++ {
		if err := h.guard.checkURL(target); err != nil {
			return nil, err
		}
		answer, err := h.client.Do(h.request(context.WithValue(ctx, targetKey{}, newTarget(target)), target, body, time.Now()))
		if err != nil {
			return nil, err
		}
		if answer.StatusCode != http.StatusTemporaryRedirect && answer.StatusCode != http.StatusPermanentRedirect {
			return answer, nil
		}
		_ = answer.Body.Close()
		next, err := redirect(target, answer.Header.Get("Location"))
		if err == nil && hop == maxRedirects {
			err = fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if err != nil {
			return nil, Permanent(fmt.Errorf("the endpoint answered %s: %w", status(answer.StatusCode), err))
		}
		target = next
	}
}

// redirect is where from's answer sends the request, if that is the same scheme and host.
func redirect(from *url.URL, location string) (*url.URL, error) {
	next, err := from.Parse(location)
	if err != nil || location == "" {
		return nil, errors.New("its Location is not a URL")
	}
	next.Fragment, next.RawFragment = "", ""
	if next, err = parseEndpoint(next.String()); err != nil {
		return nil, fmt.Errorf("its Location is not usable: %w", err)
	}
	if next.Scheme != from.Scheme || authority(next) != authority(from) {
		return nil, fmt.Errorf("a redirect to %s://%s is another host and not followed", next.Scheme, next.Host)
	}
	return next, nil
}

func authority(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

func (h HTTP) request(ctx context.Context, target *url.URL, body []byte, now time.Time) *http.Request {
	run := RunOf(ctx)
	r := (&http.Request{
		Method: http.MethodPost, URL: target, Host: target.Host, Header: http.Header{},
		Body: http.NoBody, ContentLength: int64(len(body)),
	}).WithContext(ctx)
	// No GetBody, on purpose: with it and an Idempotency-Key the transport sends the request again when a kept connection
	// breaks, which would be a second run that nobody counts.
	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	for name, value := range h.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", cmp.Or(h.ContentType, "application/json"))
	r.Header.Set("User-Agent", userAgent)
	r.Header.Set("X-Reax-Task-Id", strconv.FormatInt(run.TaskID, 10))
	r.Header.Set("X-Reax-Type", run.Type)
	r.Header.Set("X-Reax-Attempt", strconv.Itoa(run.Attempt))
	if parent := run.traceparent(); parent != "" {
		r.Header.Set("Traceparent", parent)
		r.Header.Set("Idempotency-Key", cmp.Or(run.IdempotencyKey, run.TraceID))
	}
	if h.Secret != "" {
		r.Header.Set("X-Reax-Signature", sign(h.Secret, body, now))
	}
	return r
}

func sign(secret string, body []byte, now time.Time) string {
	at := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	return "t=" + at + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
