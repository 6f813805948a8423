package cli

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// writeCertificate puts a certificate for localhost, signed by itself, into dir.
func writeCertificate(t *testing.T, dir string, serial int64) (tlsFiles, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	files := tlsFiles{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	require.NoError(t, os.WriteFile(files.Cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(files.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return files, leaf
}

func TestACertificateFollowsItsFiles(t *testing.T) {
	dir := t.TempDir()
	files, _ := writeCertificate(t, dir, 1)
	settings, err := newTLS(files, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, uint16(tls.VersionTLS12), settings.MinVersion)
	c := &certificate{files: files, logger: slog.New(slog.DiscardHandler), read: stateOf(files)}
	c.shown, err = loadCertificate(files)
	require.NoError(t, err)
	serial := func() int64 {
		c.checked = time.Time{} // as if the last look were long ago
		shown, err := c.get(nil)
		require.NoError(t, err)
		return shown.Leaf.SerialNumber.Int64()
	}
	require.EqualValues(t, 1, serial())
	writeCertificate(t, dir, 2)
	require.EqualValues(t, 2, serial(), "a renewed one needs no restart")
	require.NoError(t, os.WriteFile(files.Cert, []byte("half a certif"), 0o600))
	require.EqualValues(t, 2, serial(), "a broken one keeps the former")
	require.NoError(t, os.Remove(files.Key))
	require.EqualValues(t, 2, serial())
	writeCertificate(t, dir, 3)
	require.EqualValues(t, 3, serial())
	writeCertificate(t, dir, 4)
	shown, err := c.get(nil)
	require.NoError(t, err)
	require.EqualValues(t, 3, shown.Leaf.SerialNumber.Int64(), "the files are not looked at with each handshake")

	_, err = newTLS(tlsFiles{Cert: filepath.Join(dir, "none.pem"), Key: files.Key}, nil)
	require.ErrorContains(t, err, "reading the certificate")
}

func TestTLSCarriesHTTP2AndEventStreams(t *testing.T) {
	files, leaf := writeCertificate(t, t.TempDir(), 1)
	settings, err := newTLS(files, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	more := make(chan struct{})
	servers := startHTTP(slog.New(slog.DiscardHandler), listener, settings, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Time{})
		for range 2 {
			_, _ = w.Write([]byte("event: " + r.Proto + "\n"))
			_ = control.Flush()
			select {
			case <-more:
			case <-r.Context().Done():
			}
		}
	}), nil, nil)
	defer func() { require.NoError(t, servers.stop()) }()
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost"}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+listener.Addr().String()+"/events", nil)
	require.NoError(t, err)
	answer, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, 2, answer.ProtoMajor)
	lines := bufio.NewReader(answer.Body)
	for range 2 { // each comes while the answer is still open
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "event: HTTP/2.0\n", line)
		more <- struct{}{}
	}
	old := transport.Clone()
	old.TLSClientConfig.MaxVersion = tls.VersionTLS11
	old.TLSClientConfig.MinVersion = tls.VersionTLS10
	_, err = (&http.Client{Transport: old}).Get("https://" + listener.Addr().String()) //nolint:bodyclose // refused before anything is asked
	require.ErrorContains(t, err, "protocol version")
}
