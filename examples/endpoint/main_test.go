package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOnlyFreshSignedRequestsAreAccepted(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	const body = `{"to":"+4930123456","text":"hi"}`
	sign := func(secret, stamp string) string {
		hash := hmac.New(sha256.New, []byte(secret))
		hash.Write([]byte(stamp + "." + body))
		return "t=" + stamp + ",v1=" + hex.EncodeToString(hash.Sum(nil))
	}
	for _, test := range []struct {
		name, signature string
		want            int
	}{
		{"good", sign("s", "1800000000"), http.StatusOK},
		{"none", "", http.StatusUnauthorized},
		{"wrong secret", sign("other", "1800000000"), http.StatusUnauthorized},
		{"old", sign("s", "1799999600"), http.StatusUnauthorized},
		{"nonsense", "t=x,v1=zz", http.StatusUnauthorized},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/sms", strings.NewReader(body))
			r.Header.Set("X-Reax-Signature", test.signature)
			w := httptest.NewRecorder()
			handler([]byte("s"), func() time.Time { return now }).ServeHTTP(w, r)
			require.Equal(t, test.want, w.Code, w.Body.String())
		})
	}
}
