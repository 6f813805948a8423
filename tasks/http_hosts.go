package tasks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// HostRules say where an HTTP type may send its requests. An entry is a name (api.example.com), all names below one
// (*.example.com), an address, or a range of addresses (10.0.0.0/8). With entries in Allow nothing else is possible; Deny
// wins over Allow.
//
// What a name leads to is looked at when the connection is made, so that no answer of a name server gets past the rules.
// Link-local addresses, the metadata services of clouds, and addresses that are no one machine's are refused unless Allow has
// the address itself; loopback and private ones are not. Behind a proxy (HTTP_PROXY) only what stands in the URL can be
// looked at.
type HostRules struct{ Allow, Deny []string }

const maxHostRules = 1_000

var hostName = regexp.MustCompile(`^(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)

// Validate names the first entry that is neither a name nor an address.
func (r HostRules) Validate() error {
	for list, entries := range map[string][]string{"allow_hosts": r.Allow, "deny_hosts": r.Deny} {
		if len(entries) > maxHostRules {
			return fmt.Errorf("%s: more than %d entries", list, maxHostRules)
		}
		if _, err := readHosts(entries); err != nil {
			return fmt.Errorf("%s: %w", list, err)
		}
	}
	return nil
}

// hostSet is a list of rules, read.
type hostSet struct {
	names    []string // in lower case; with a dot before, all names below one
	prefixes []netip.Prefix
}

func readHosts(entries []string) (set hostSet, err error) {
	for _, entry := range entries {
		text := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(entry), "."))
		if prefix, err := netip.ParsePrefix(text); err == nil {
			set.prefixes = append(set.prefixes, prefix.Masked())
		} else if ip, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
			ip = ip.Unmap().WithZone("")
			set.prefixes = append(set.prefixes, netip.PrefixFrom(ip, ip.BitLen()))
		} else if hostName.MatchString(text) {
			set.names = append(set.names, strings.TrimPrefix(text, "*"))
		} else {
			return hostSet{}, fmt.Errorf("%q is neither a host name, an address nor a range of addresses", cleanText(entry, maxMessageBytes))
		}
	}
	return set, nil
}

func (s hostSet) empty() bool { return len(s.names)+len(s.prefixes) == 0 }

func (s hostSet) hasName(host string) bool {
	return slices.ContainsFunc(s.names, func(name string) bool {
		return host == name || strings.HasPrefix(name, ".") && strings.HasSuffix(host, name)
	})
}

func (s hostSet) hasIP(ip netip.Addr) bool {
	return slices.ContainsFunc(s.prefixes, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// hostGuard is several rules, all of which must be kept.
type hostGuard struct{ allow, deny []hostSet }

func newHostGuard(rules []HostRules) (*hostGuard, error) {
	g := &hostGuard{}
	for _, r := range rules {
		if err := r.Validate(); err != nil {
			return nil, err
		}
		allow, _ := readHosts(r.Allow)
		deny, _ := readHosts(r.Deny)
		g.allow, g.deny = append(g.allow, allow), append(g.deny, deny)
	}
	return g, nil
}

// refusedNames lead to metadata services, also where a proxy looks the name up.
var refusedNames = hostSet{names: []string{"metadata", "metadata.google.internal", "instance-data"}}

// checkURL looks at what stands in an address before anything is sent, or a name is looked up.
func (g *hostGuard) checkURL(u *url.URL) error {
	host := newTarget(u).host
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.checkIP("", ip)
	}
	for i := range g.deny {
		if g.deny[i].hasName(host) {
			return refusedHost("the host %s is in deny_hosts", host)
		}
		if !g.allow[i].empty() && len(g.allow[i].prefixes) == 0 && !g.allow[i].hasName(host) {
			return refusedHost("the host %s is not in allow_hosts", host)
		}
	}
	if refusedNames.hasName(host) && !slices.ContainsFunc(g.allow, func(s hostSet) bool { return s.hasName(host) }) {
		return refusedHost("the host %s is a metadata service: allow_hosts must name it", host)
	}
	return nil
}

// checkIP looks at the address that host, if it is not itself an address, leads to.
func (g *hostGuard) checkIP(host string, ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	for _, inner := range append(embedded(ip), ip) {
		for i := range g.deny {
			if g.deny[i].hasIP(inner) {
				return refusedHost("the address %s is in deny_hosts", inner)
			}
		}
		if isRefused(inner) && !slices.ContainsFunc(g.allow, func(s hostSet) bool { return s.hasIP(ip) }) {
			return refusedHost("the address %s is link-local, a metadata service or no machine's own: allow_hosts must have the address itself", inner)
		}
	}
	for _, allow := range g.allow {
		if !allow.empty() && !allow.hasIP(ip) && (host == "" || !allow.hasName(host)) {
			return refusedHost("the address %s is not in allow_hosts", ip)
		}
	}
	return nil
}

// refusedPrefixes are never reached without being allowed by address: they are this network's own, or have what a cloud
// tells its machines, secrets included.
var refusedPrefixes = prefixes("0.0.0.0/8", "169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "224.0.0.0/4", "240.0.0.0/4",
	"::/128", "fe80::/10", "fec0::/10", "ff00::/8", "fd00:ec2::254/128", "fd20:ce::254/128")

// carriers are the ranges of addresses that have one of IPv4 in them, and at which byte.
var carriers = map[netip.Prefix]int{netip.MustParsePrefix("64:ff9b::/96"): 12, netip.MustParsePrefix("2002::/16"): 2, netip.MustParsePrefix("::/96"): 12}

func prefixes(all ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(all))
	for i, text := range all {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

func isRefused(ip netip.Addr) bool {
	return slices.ContainsFunc(refusedPrefixes, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// embedded is the address of IPv4 that a gateway would make of ip.
func embedded(ip netip.Addr) []netip.Addr {
	if !ip.Is6() || ip.IsLoopback() || ip.IsUnspecified() {
		return nil
	}
	for carrier, at := range carriers {
		if carrier.Contains(ip) {
			bytes := ip.As16()
			return []netip.Addr{netip.AddrFrom4([4]byte(bytes[at : at+4]))}
		}
	}
	return nil
}

// refusedHostError is a host that the rules refuse. It is permanent: the next attempt would be refused as well.
type refusedHostError struct{ text string }

func (e *refusedHostError) Error() string { return e.text }

func refusedHost(format string, args ...any) error {
	return &refusedHostError{fmt.Sprintf(format, args...)}
}

// refusedOf finds the refusal in what the client gives.
func refusedOf(err error) error {
	if refused, ok := errors.AsType[*refusedHostError](err); ok {
		return Permanent(fmt.Errorf("the request was not sent: %w", refused))
	}
	return nil
}

// targetKey finds the target of a request in the context of its connection.
type targetKey struct{}

// target is where a request goes, and whether by way of a proxy.
type target struct {
	host    string // in lower case
	proxied atomic.Bool
}

func newTarget(u *url.URL) *target {
	return &target{host: strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))}
}

// httpClients has a client for each set of rules, so that connections are reused over runs and types, but never for
// a type that would not have been allowed to make them.
var httpClients = struct {
	sync.Mutex
	all map[string]*http.Client
}{all: map[string]*http.Client{}}

func clientFor(rules []HostRules, guard *hostGuard) *http.Client {
	key := fmt.Sprintf("%q", rules)
	httpClients.Lock()
	defer httpClients.Unlock()
	client := httpClients.all[key]
	if client == nil {
		client = newHTTPClient(guard)
		httpClients.all[key] = client
	}
	return client
}

// CloseIdleConnections closes the connections that HTTP types keep for their next run. Running requests go on.
func CloseIdleConnections() {
	httpClients.Lock()
	defer httpClients.Unlock()
	for _, client := range httpClients.all {
		client.CloseIdleConnections()
	}
}

// dialer refuses addresses that the rules do not allow, as they are when a connection is made.
func (g *hostGuard) dialer() *net.Dialer {
	return &net.Dialer{Timeout: 10 * time.Second, ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		place, err := netip.ParseAddrPort(address)
		if err != nil {
			return refusedHost("the address %q cannot be read", address)
		}
		host := ""
		if to, ok := ctx.Value(targetKey{}).(*target); ok {
			host = to.host
		}
		return g.checkIP(host, place.Addr())
	}}
}

func newHTTPClient(guard *hostGuard) *http.Client {
	dialer := guard.dialer()
	plain := &net.Dialer{Timeout: dialer.Timeout}
	return &http.Client{
		// Redirects are followed by HTTP itself: the client would turn a POST into a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: func(r *http.Request) (*url.URL, error) {
				proxy, err := http.ProxyFromEnvironment(r)
				if to, ok := r.Context().Value(targetKey{}).(*target); ok && proxy != nil {
					to.proxied.Store(true)
				}
				return proxy, err
			},
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if to, ok := ctx.Value(targetKey{}).(*target); ok && to.proxied.Load() {
					return plain.DialContext(ctx, network, address) // the proxy, which whoever runs the server has chosen
				}
				return dialer.DialContext(ctx, network, address)
			},
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxIdleConns:           256,
			MaxIdleConnsPerHost:    64,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
}
