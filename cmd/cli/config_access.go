package cli

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strings"

	"reax/tasks"
)

// accessConfig is how the server is reached, and where its HTTP tasks may go.
type accessConfig struct {
	BasePath       string // where a proxy in front has mounted the server; empty for the root
	TrustedProxies []netip.Prefix
	TLS            tlsFiles
	Outbound       tasks.HostRules
}

// tlsFiles are the certificate, with those of the authorities between, and its private key, in PEM.
type tlsFiles struct{ Cert, Key string }

func (f tlsFiles) isSet() bool { return f.Cert != "" }

const maxTrustedProxies = 1_000

// fields are the keys of the configuration file that fill c in.
func (c *accessConfig) fields(dir string) map[string]func(value) {
	return map[string]func(value){
		"base_path":       func(v value) { c.BasePath = v.basePath() },
		"trusted_proxies": func(v value) { c.TrustedProxies = v.prefixes() },
		"tls": func(v value) {
			v.mapping(map[string]func(value){
				"cert": func(v value) { c.TLS.Cert = inDir(dir, v.text()) },
				"key":  func(v value) { c.TLS.Key = inDir(dir, v.text()) },
			})
			if (c.TLS.Cert == "") != (c.TLS.Key == "") || v.isNull() {
				v.fail("needs both cert and key")
			}
		},
		"outbound": func(v value) { v.mapping(v.hostRules(&c.Outbound)) },
	}
}

var plainBasePath = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// basePath reads a path such as /reax.
func (v value) basePath() string {
	text := strings.TrimSuffix(v.text(), "/")
	if text != "" && !plainBasePath.MatchString(text) {
		v.fail("must be a path such as /reax, of letters, digits and . _ ~ -")
	}
	return text
}

// prefixes reads a list of addresses and ranges of addresses.
func (v value) prefixes() []netip.Prefix {
	var all []netip.Prefix
	for _, item := range v.list() {
		text := item.text()
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			ip, bad := netip.ParseAddr(text)
			if bad != nil {
				item.fail("must be an address or a range such as 10.0.0.0/8, not %s", item.describe())
				continue
			}
			prefix = netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen())
		}
		all = append(all, prefix.Masked())
	}
	if len(all) > maxTrustedProxies {
		v.fail("has more than %d entries", maxTrustedProxies)
	}
	return all
}

// hostRules are the keys that say where HTTP tasks may go.
func (v value) hostRules(rules *tasks.HostRules) map[string]func(value) {
	read := func(to *[]string, rule func(entries []string) tasks.HostRules) func(value) {
		return func(v value) {
			*to = v.texts()
			if err := rule(*to).Validate(); err != nil {
				_, text, _ := strings.Cut(err.Error(), ": ")
				v.fail("%s", text)
			}
		}
	}
	return map[string]func(value){
		"allow_hosts": read(&rules.Allow, func(entries []string) tasks.HostRules { return tasks.HostRules{Allow: entries} }),
		"deny_hosts":  read(&rules.Deny, func(entries []string) tasks.HostRules { return tasks.HostRules{Deny: entries} }),
	}
}

// check says what keeps the server from being reached that no file says: a certificate that cannot be read.
func (c *accessConfig) check() error {
	if !c.TLS.isSet() {
		return nil
	}
	_, err := loadCertificate(c.TLS)
	return err
}

// keyIsOpen warns of a private key that others on this machine can read; "" when none can.
func (c *accessConfig) keyIsOpen() string {
	if !c.TLS.isSet() {
		return ""
	}
	if info, err := os.Stat(c.TLS.Key); err == nil && info.Mode().Perm()&0o004 != 0 {
		return fmt.Sprintf("everybody on this machine can read the private key %s: chmod o-r", c.TLS.Key)
	}
	return ""
}
