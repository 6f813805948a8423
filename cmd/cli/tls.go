package cli

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificateLook is how often, at most, a handshake looks whether the certificate's files have changed.
const certificateLook = 2 * time.Second

// certificate is what the server shows to TLS clients. It follows its files, so that a renewed one needs no restart; as
// long as what is in them is no good, the former one goes on.
type certificate struct {
	files  tlsFiles
	logger *slog.Logger

	mu      sync.Mutex
	shown   *tls.Certificate
	read    string // the state of the files when they were read
	checked time.Time
}

func loadCertificate(files tlsFiles) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate %s with its key %s: %w", files.Cert, files.Key, err)
	}
	return &pair, nil
}

// newTLS makes the settings of a TLS server with the certificate in files.
func newTLS(files tlsFiles, logger *slog.Logger) (*tls.Config, error) {
	c := &certificate{files: files, logger: logger, read: stateOf(files), checked: time.Now()}
	var err error
	if c.shown, err = loadCertificate(files); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}, nil
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked).Abs() >= certificateLook {
		c.checked = now
		c.follow()
	}
	return c.shown, nil
}

// follow reads the files again when they are others than before.
func (c *certificate) follow() {
	state := stateOf(c.files)
	if state == c.read {
		return
	}
	c.read = state // a pair that is no good is told of once
	pair, err := loadCertificate(c.files)
	if err != nil {
		c.logger.Error("the new certificate is no good; the former one goes on", slog.Any("error", err))
		return
	}
	c.shown = pair
	c.logger.Info("the certificate was read again", slog.String("file", c.files.Cert), slog.Time("ends", pair.Leaf.NotAfter))
}

// stateOf changes when one of the files does.
func stateOf(files tlsFiles) string {
	var state string
	for _, path := range []string{files.Cert, files.Key} {
		info, err := os.Stat(path)
		if err != nil {
			state += "|" + err.Error()
			continue
		}
		state += fmt.Sprintf("|%d %d", info.ModTime().UnixNano(), info.Size())
	}
	return state
}
