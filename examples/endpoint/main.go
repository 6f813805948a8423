// Command endpoint is the HTTP side of the sms.push example: it checks the signature of each request and pretends to
// send a text message.
package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	maxBody = 1 << 20
	maxAge  = 5 * time.Minute // of a signature, so that a recorded request cannot be sent again later
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9000", "where to listen")
	flag.Parse()
	secret := os.Getenv("SMS_SECRET")
	if secret == "" {
		log.Fatal("SMS_SECRET is not set")
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	srv := &http.Server{Handler: handler([]byte(secret), time.Now), ReadHeaderTimeout: 10 * time.Second}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		_ = srv.Close()
	}()
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// handler answers POST /sms. A 4xx answer makes the task fail for good; a 5xx answer would be retried.
func handler(secret []byte, now func() time.Time) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sms", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
			return
		}
		if err := verify(secret, r.Header.Get("X-Reax-Signature"), body, now()); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		var message struct{ To, Text string }
		if err := json.Unmarshal(body, &message); err != nil {
			http.Error(w, "the parameters are not JSON", http.StatusBadRequest)
			return
		}
		// A real service would remember the Idempotency-Key: the same task may come a second time after a crash.
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"sent_to": message.To, "characters": len([]rune(message.Text)), "key": r.Header.Get("Idempotency-Key"),
		})
	})
	return mux
}

// verify checks a signature "t=<Unix seconds>,v1=<hex>": the HMAC-SHA256 of "<Unix seconds>.<body>".
func verify(secret []byte, signature string, body []byte, now time.Time) error {
	stamp, mac, ok := strings.Cut(signature, ",")
	stamp, okStamp := strings.CutPrefix(stamp, "t=")
	mac, okMAC := strings.CutPrefix(mac, "v1=")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	given, errHex := hex.DecodeString(mac)
	if !ok || !okStamp || !okMAC || err != nil || errHex != nil {
		return errors.New("the request is not signed")
	}
	if age := now.Sub(time.Unix(seconds, 0)).Abs(); age > maxAge {
		return errors.New("the signature is too old")
	}
	hash := hmac.New(sha256.New, secret)
	_, _ = io.WriteString(hash, stamp+".")
	_, _ = hash.Write(body)
	if !hmac.Equal(hash.Sum(nil), given) {
		return errors.New("the signature is wrong")
	}
	return nil
}
