package web

import (
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Bounds of what a proxy may say.
const (
	maxForwarded = 4 << 10 // bytes of the addresses that a request came by; what is longer is not looked at
	maxPrefix    = 200
)

// origin is where a request comes from, as far as it can be known.
type origin struct {
	address string // of the client
	tls     bool   // the client speaks TLS, with us or with a proxy that we trust
	prefix  string // the path below which a proxy that we trust has mounted us, and that it takes off
	relayed bool   // a proxy that we do not trust has sent it, so that the client is somebody else
}

// forwardedHeaders are those in which a proxy tells of the request that it got.
var forwardedHeaders = []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "X-Forwarded-Host", "X-Forwarded-Proto", "Via"}

// originOf reads where a request comes from. What its headers say counts only from a proxy that is trusted; from anybody else it
// is a claim.
func (s *Server) originOf(r *http.Request) origin {
	o := origin{tls: r.TLS != nil}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return o // a local socket
	}
	o.address = host
	peer, err := netip.ParseAddr(host)
	if err != nil || !s.trusts(peer) {
		o.relayed = slices.ContainsFunc(forwardedHeaders, func(name string) bool { return len(r.Header[name]) > 0 })
		return o
	}
	client, tls := s.clientOf(r.Header, peer)
	o.address = client.String()
	o.tls = o.tls || tls
	o.prefix = forwardedPrefix(r.Header)
	return o
}

func (s *Server) trusts(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return slices.ContainsFunc(s.proxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// clientOf is the last address on the way that is no trusted proxy, and whether it came by TLS. A proxy adds whom it got
// the request from at the right end, so what is left of the first stranger is the stranger's word. Two headers that do
// not agree come from two hands, one of which may be the client's: then neither counts.
func (s *Server) clientOf(h http.Header, peer netip.Addr) (client netip.Addr, tls bool) {
	plain := splitList(h["X-Forwarded-For"])
	full, proto := forwardedList(h["Forwarded"])
	tls = strings.EqualFold(last(splitList(h["X-Forwarded-Proto"])), "https")
	switch {
	case len(full) == 0:
		return s.rightmost(plain, peer), tls
	case len(plain) == 0:
		return s.rightmost(full, peer), tls || len(h["X-Forwarded-Proto"]) == 0 && strings.EqualFold(proto, "https")
	}
	if a, b := s.rightmost(plain, peer), s.rightmost(full, peer); a == b {
		return a, tls
	}
	return peer, tls
}

// rightmost walks from the right to the first address that is not trusted. What is no address ends the walk: nobody can tell
// what stands before it.
func (s *Server) rightmost(hops []string, peer netip.Addr) netip.Addr {
	client := peer
	for _, hop := range slices.Backward(hops) {
		ip, ok := hopAddress(hop)
		if !ok {
			return client
		}
		client = ip
		if !s.trusts(ip) {
			return client
		}
	}
	return client
}

// hopAddress reads an address, which may have a port and, being of IPv6, brackets.
func hopAddress(text string) (netip.Addr, bool) {
	text = strings.Trim(text, `"`)
	if both, err := netip.ParseAddrPort(text); err == nil {
		return both.Addr().Unmap().WithZone(""), true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		return netip.Addr{}, false
	}
	return ip.Unmap().WithZone(""), true
}

// splitList splits a header that holds a list, over all its lines; nothing when it is too long.
func splitList(values []string) []string {
	all := strings.Join(values, ",")
	if len(all) > maxForwarded {
		return nil
	}
	var list []string
	for part := range strings.SplitSeq(all, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// forwardedList reads the header of RFC 7239: the addresses, and the scheme of the last one.
func forwardedList(values []string) (hops []string, proto string) {
	for _, element := range splitList(values) {
		hop := "unknown" // an element without an address hides one
		proto = ""
		for pair := range strings.SplitSeq(element, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			switch value = strings.Trim(value, `"`); {
			case strings.EqualFold(name, "for"):
				hop = value
			case strings.EqualFold(name, "proto"):
				proto = value
			}
		}
		hops = append(hops, hop)
	}
	return hops, proto
}

func last(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// forwardedPrefix is the path that the proxy takes off, if it is a plain one: it becomes part of every address of a page.
func forwardedPrefix(h http.Header) string {
	values := h["X-Forwarded-Prefix"]
	if len(values) != 1 || len(values[0]) > maxPrefix {
		return ""
	}
	prefix := strings.TrimSuffix(values[0], "/")
	if !plainPath.MatchString(prefix) {
		return ""
	}
	return prefix
}

// mount puts back the base path when the proxy says that it has taken it off, and otherwise keeps what it has taken off
// for the addresses that we give.
func (s *Server) mount(r *http.Request, o *origin) {
	if o.prefix == "" || o.prefix != s.base {
		return
	}
	o.prefix = ""
	if r.URL.Path == s.base || strings.HasPrefix(r.URL.Path, s.base+"/") {
		return
	}
	r.URL.Path = s.base + r.URL.Path
	if r.URL.RawPath != "" {
		r.URL.RawPath = s.base + r.URL.RawPath
	}
	r.RequestURI = s.base + r.RequestURI
}

// baseOf is the path below which a client finds us.
func (s *Server) baseOf(r *http.Request) string { return callerOf(r.Context()).prefix + s.base }

// requestIsTLS reports whether the client speaks TLS, with us or with a proxy that is trusted.
func requestIsTLS(r *http.Request) bool { return r.TLS != nil || callerOf(r.Context()).tls }

// schemeOf is the scheme of the address that the client has used.
func schemeOf(r *http.Request) string {
	if requestIsTLS(r) {
		return "https"
	}
	return "http"
}
