package notify

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/tasks"
)

// postOffice is a mail server on this machine.
type postOffice struct {
	net.Listener
	roots    *x509.CertPool
	secure   *tls.Config
	implicit bool
	starttls bool   // it offers it
	refuse   string // what it says to a recipient
	goodbye  bool   // it hangs up instead of saying goodbye

	letters chan letter
	done    chan struct{}
}

type letter struct {
	private  bool
	auth     string
	from, to string
	text     string
}

func openPostOffice(t *testing.T, change func(*postOffice)) *postOffice {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	p := &postOffice{
		roots: x509.NewCertPool(), secure: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		starttls: true, letters: make(chan letter, 4), done: make(chan struct{}),
	}
	p.roots.AddCert(cert)
	if change != nil {
		change(p)
	}
	p.Listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		defer close(p.done)
		for {
			conn, err := p.Accept()
			if err != nil {
				return
			}
			p.serve(conn)
		}
	}()
	t.Cleanup(func() { _ = p.Close(); <-p.done })
	return p
}

// serve speaks as much SMTP as a client needs to hand over a letter.
func (p *postOffice) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	l := letter{private: p.implicit}
	if p.implicit {
		conn = tls.Server(conn, p.secure)
	}
	in := bufio.NewReader(conn)
	say := func(text string) { _, _ = io.WriteString(conn, text+"\r\n") }
	say("220 here")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		switch word, rest, _ := strings.Cut(line, " "); strings.ToUpper(word) {
		case "EHLO":
			say("250-here")
			if p.starttls && !l.private {
				say("250-STARTTLS")
			}
			say("250 AUTH PLAIN")
		case "STARTTLS":
			say("220 go on")
			private := tls.Server(conn, p.secure)
			if private.Handshake() != nil {
				return
			}
			conn, in, l.private = private, bufio.NewReader(private), true
		case "AUTH":
			said, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
			l.auth = strings.ReplaceAll(string(said), "\x00", "/")
			if strings.HasSuffix(l.auth, "wrong") {
				say("535 not with " + l.auth)
				continue
			}
			say("235 welcome")
		case "MAIL":
			l.from = rest
			say("250 ok")
		case "RCPT":
			l.to += rest
			if p.refuse != "" {
				say(p.refuse)
				continue
			}
			say("250 ok")
		case "DATA":
			say("354 go on")
			var text strings.Builder
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				text.WriteString(line)
			}
			l.text = text.String()
			p.letters <- l
			say("250 taken")
		case "QUIT":
			if !p.goodbye {
				say("221 bye")
			}
			return
		default:
			say("250 ok")
		}
	}
}

func (p *postOffice) config(change func(*Mail)) Config {
	m := Mail{Server: p.Addr().String(), Roots: p.roots, User: "ann", Password: "hidden-password", From: "reax <reax@example.com>", To: []string{"ops@example.com", "值班 <duty@example.com>"}}
	if change != nil {
		change(&m)
	}
	return configOf(Receiver{Kind: KindMail, Mail: m})
}

func TestMailGoesByAPrivateConnectionAndHasNoHeaderOfSomebodyElse(t *testing.T) {
	for _, mode := range []string{TLSStart, TLSImplicit, TLSNone} {
		t.Run(mode, func(t *testing.T) {
			p := openPostOffice(t, func(p *postOffice) { p.implicit, p.goodbye = mode == TLSImplicit, true })
			c := p.config(func(m *Mail) { m.TLS = mode })
			c.Language = Chinese
			n := sample
			n.Kind, n.Facts.Name = "schedule_missed", "a\r\nBcc: evil@example.com\r\n\r\nbody"
			_, err := send(t, c, n)
			require.NoError(t, err, "a server that hangs up after it has taken the letter has taken it")
			l := <-p.letters
			require.Equal(t, mode != TLSNone, l.private)
			require.Equal(t, "/ann/hidden-password", l.auth)
			require.Contains(t, l.from, "<reax@example.com>")
			require.Contains(t, l.to, "<ops@example.com>")
			require.Contains(t, l.to, "<duty@example.com>")
			require.NotContains(t, l.to, "evil")

			got, err := mail.ReadMessage(strings.NewReader(l.text))
			require.NoError(t, err)
			subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
			require.NoError(t, err)
			require.Equal(t, "[reax] 告警：定时计划 a Bcc: evil@example.com body 未按时运行", subject)
			require.Empty(t, got.Header.Get("Bcc"))
			require.Equal(t, "auto-generated", got.Header.Get("Auto-Submitted"))
			require.Equal(t, "<0123456789abcdef0123456789abcdef.9@example.com>", got.Header.Get("Message-Id"))
			body, err := io.ReadAll(quotedprintable.NewReader(got.Body))
			require.NoError(t, err)
			require.Contains(t, string(body), "规则：broken")
		})
	}
}

func TestMailIsNotSentInTheClearAndFailuresHoldNoPassword(t *testing.T) {
	for name, test := range map[string]struct {
		office func(*postOffice)
		mail   func(*Mail)
		want   string
	}{
		"a server without STARTTLS": {func(p *postOffice) { p.starttls = false }, nil, "could not be spoken to"},
		"a certificate of others":   {nil, func(m *Mail) { m.Roots = x509.NewCertPool() }, "certificate"},
		"a wrong password":          {nil, func(m *Mail) { m.Password = "hidden-but-wrong" }, "535"},
		"a recipient it knows not":  {func(p *postOffice) { p.refuse = "550 no such user" }, nil, "has not taken the mail"},
	} {
		t.Run(name, func(t *testing.T) {
			p := openPostOffice(t, test.office)
			_, err := send(t, p.config(test.mail), sample)
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "hidden")
			require.True(t, tasks.Judge(err, tasks.DefaultPolicy()).Retryable)
			require.Empty(t, p.letters)
		})
	}
	p := openPostOffice(t, nil)
	c := p.config(nil)
	c.Hosts = []tasks.HostRules{{Deny: []string{"127.0.0.0/8"}}}
	_, err := send(t, c, sample)
	require.ErrorContains(t, err, "deny_hosts", "the rules are those of all that goes out")
	require.False(t, tasks.Judge(err, tasks.DefaultPolicy()).Retryable)
}
