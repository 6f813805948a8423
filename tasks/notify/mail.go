package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	smtp "github.com/wneessen/go-mail"

	"reax/tasks"
)

// How the connection to a mail server is kept private.
const (
	TLSStart    = "starttls" // from the start of the conversation on; never without
	TLSImplicit = "tls"      // from the start of the connection on
	TLSNone     = "none"     // not at all; only without a password, or on this machine
)

// Mail is a mail server and who gets mail by it.
type Mail struct {
	Server   string // host:port
	TLS      string // one of the TLS constants; empty is TLSStart
	Roots    *x509.CertPool
	User     string // empty signs in to no account
	Password string
	From     string
	To       []string
}

const maxRecipients = 50

func (m *Mail) validate() error {
	host, port, err := net.SplitHostPort(m.Server)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 1 || n > 65535 || host == "" {
		return errors.New("server: must be a host and a port, such as mail.example.com:587")
	}
	if (m.User == "") != (m.Password == "") {
		return errors.New("user and password belong together")
	}
	if m.TLS == TLSNone && m.Password != "" && !isLoopback(host) {
		return errors.New("tls: a password is not sent in the clear to another machine")
	}
	if _, err := mail.ParseAddress(m.From); err != nil {
		return errors.New("from: must be a mail address")
	}
	if len(m.To) == 0 || len(m.To) > maxRecipients {
		return fmt.Errorf("to: must have 1 to %d mail addresses", maxRecipients)
	}
	for _, to := range m.To {
		if _, err := mail.ParseAddress(to); err != nil {
			return fmt.Errorf("to: %q is not a mail address", to)
		}
	}
	return nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost"
}

// mail sends a message by SMTP.
func (c *Config) mail(ctx context.Context, to *Mail, m Message) error {
	letter := smtp.NewMsg()
	if err := errors.Join(letter.From(to.From), letter.To(to.To...)); err != nil {
		return tasks.Permanent(fmt.Errorf("addressing the mail: %w", err))
	}
	letter.Subject(m.Title) // of one line, which is encoded as a header wants it
	letter.SetDate()
	run := tasks.RunOf(ctx)
	domain := "localhost"
	if from, err := mail.ParseAddress(to.From); err == nil {
		if _, after, ok := strings.Cut(from.Address, "@"); ok {
			domain = after
		}
	}
	letter.SetMessageIDWithValue(fmt.Sprintf("%s.%d@%s", run.TraceID, run.TaskID, domain)) // the same on each attempt
	letter.SetGenHeader("Auto-Submitted", "auto-generated")
	letter.SetBodyString(smtp.TypeTextPlain, m.Text+"\n")

	// The library leaves a connection open when the conversation fails, and does not look at ctx once it is made.
	line := &closing{}
	defer line.close()
	defer context.AfterFunc(ctx, line.close)()
	client, err := c.mailClient(to, line)
	if err != nil {
		return tasks.Permanent(fmt.Errorf("preparing the mail: %w", err))
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return to.failed(ctx, "the mail server could not be spoken to", err)
	}
	// Once the letter is taken, an error at the goodbye must not send it again.
	defer func() { _ = client.CloseWithSMTPClient(session) }()
	if err := client.SendWithSMTPClient(session, letter); err != nil {
		return to.failed(ctx, "the mail server has not taken the mail", err)
	}
	return nil
}

// closing closes the connection of a mail, whichever comes first: the end of the conversation, or that of its time.
type closing struct {
	mu   sync.Mutex
	conn net.Conn
	over bool
}

func (l *closing) keep(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn = conn; l.over {
		_ = conn.Close()
	}
}

func (l *closing) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over = true; l.conn != nil {
		_ = l.conn.Close()
	}
}

func (c *Config) mailClient(to *Mail, line *closing) (*smtp.Client, error) {
	host, port, err := net.SplitHostPort(to.Server)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	reach, err := tasks.Dialer(c.Hosts)
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := reach(ctx, network, address)
		if err == nil {
			line.keep(conn)
		}
		return conn, err
	}
	secure := &tls.Config{ServerName: host, RootCAs: to.Roots, MinVersion: tls.VersionTLS12}
	options := []smtp.Option{smtp.WithPort(n), smtp.WithTimeout(sendTimeout), smtp.WithTLSConfig(secure), smtp.WithoutNoop()}
	switch to.TLS {
	case TLSImplicit:
		// With a dialer of one's own the library leaves the handshake to it.
		options = append(options, smtp.WithTLSPolicy(smtp.NoTLS))
		plain := dial
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := plain(ctx, network, address)
			if err != nil {
				return nil, err
			}
			private := tls.Client(conn, secure)
			return private, private.HandshakeContext(ctx)
		}
	case TLSNone:
		options = append(options, smtp.WithTLSPolicy(smtp.NoTLS))
	default:
		options = append(options, smtp.WithTLSPolicy(smtp.TLSMandatory))
	}
	options = append(options, smtp.WithDialContextFunc(dial))
	if to.User != "" {
		auth := smtp.SMTPAuthAutoDiscover
		if to.TLS == TLSImplicit || to.TLS == TLSNone {
			auth = smtp.SMTPAuthPlainNoEnc // the library does not see the encryption; validate has refused the clear
		}
		options = append(options, smtp.WithSMTPAuth(auth), smtp.WithUsername(to.User), smtp.WithPassword(to.Password))
	}
	return smtp.NewClient(host, options...)
}

// failed is the run's error. What a server says may hold what it was told.
func (m *Mail) failed(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	text := err.Error()
	if m.Password != "" {
		text = strings.ReplaceAll(text, m.Password, "[redacted]")
	}
	text = what + ": " + oneLine(text)
	if tasks.Judge(err, tasks.DefaultPolicy()).Retryable {
		return tasks.Retryable(errors.New(text))
	}
	return tasks.Permanent(errors.New(text))
}
