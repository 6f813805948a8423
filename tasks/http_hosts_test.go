package tasks

import (
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHTTPRefusesMetadataAndLinkLocalAddresses(t *testing.T) {
	guard, err := newHostGuard([]HostRules{{}, {}})
	require.NoError(t, err)
	for _, host := range []string{
		"169.254.169.254", "169.254.0.1", "[fe80::1]", "[fd00:ec2::254]", "100.100.100.200", "0.0.0.0", "[::]", "[::ffff:169.254.169.254]",
		"[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "224.0.0.1", "255.255.255.255", "metadata.google.internal", "METADATA.google.internal.", "metadata",
	} {
		u, err := parseEndpoint("http://" + host + "/latest")
		require.NoError(t, err)
		require.ErrorContains(t, guard.checkURL(u), "allow_hosts", host)
		require.ErrorContains(t, HTTP{URL: u.String()}.Validate(), "allow_hosts", host)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "10.1.2.3", "192.168.1.1", "[::1]", "[fd12::1]", "8.8.8.8", "api.example.com", "[64:ff9b::808:808]"} {
		u, err := parseEndpoint("http://" + host + ":8080/x")
		require.NoError(t, err)
		require.NoError(t, guard.checkURL(u), host)
	}
	allowed, err := newHostGuard([]HostRules{{Allow: []string{"169.254.169.254"}}})
	require.NoError(t, err)
	require.NoError(t, allowed.checkIP("", netip.MustParseAddr("169.254.169.254")))
	named, err := newHostGuard([]HostRules{{Allow: []string{"evil.example"}}})
	require.NoError(t, err)
	require.Error(t, named.checkIP("evil.example", netip.MustParseAddr("169.254.169.254")), "a name that is allowed leads nowhere else")
}

func TestHTTPHostRules(t *testing.T) {
	for _, c := range []struct {
		rules    []HostRules
		host, ip string
		want     string // part of the refusal; empty when it is allowed
	}{
		{nil, "a.example", "10.0.0.1", ""},
		{[]HostRules{{Allow: []string{"a.example"}}}, "a.example", "10.0.0.1", ""},
		{[]HostRules{{Allow: []string{"a.example"}}}, "b.a.example", "10.0.0.1", "not in allow_hosts"},
		{[]HostRules{{Allow: []string{"*.a.example"}}}, "b.A.example.", "10.0.0.1", ""},
		{[]HostRules{{Allow: []string{"*.a.example"}}}, "a.example", "10.0.0.1", "not in allow_hosts"},
		{[]HostRules{{Allow: []string{"*.a.example"}}}, "evila.example", "10.0.0.1", "not in allow_hosts"},
		{[]HostRules{{Allow: []string{"10.0.0.0/8"}}}, "a.example", "10.9.9.9", ""},
		{[]HostRules{{Allow: []string{"10.0.0.0/8"}}}, "a.example", "11.0.0.1", "not in allow_hosts"},
		{[]HostRules{{Allow: []string{"10.0.0.0/8", "a.example"}}}, "a.example", "11.0.0.1", ""},
		{[]HostRules{{Deny: []string{"10.0.0.0/8"}}}, "a.example", "10.0.0.1", "in deny_hosts"},
		{[]HostRules{{Deny: []string{"10.0.0.0/8"}}}, "a.example", "::ffff:10.0.0.1", "in deny_hosts"},
		{[]HostRules{{Deny: []string{"a.example"}}}, "a.example", "11.0.0.1", "in deny_hosts"},
		{[]HostRules{{Allow: []string{"a.example"}, Deny: []string{"10.0.0.0/8"}}}, "a.example", "10.0.0.1", "in deny_hosts"},
		{[]HostRules{{Allow: []string{"*.example"}}, {Allow: []string{"a.example"}}}, "a.example", "10.0.0.1", ""},
		{[]HostRules{{Allow: []string{"*.example"}}, {Allow: []string{"a.example"}}}, "b.example", "10.0.0.1", "not in allow_hosts"},
		{[]HostRules{{Deny: []string{"a.example"}}, {Allow: []string{"a.example"}}}, "a.example", "10.0.0.1", "in deny_hosts"},
	} {
		guard, err := newHostGuard(c.rules)
		require.NoError(t, err)
		u, err := parseEndpoint("http://" + c.host + "/")
		require.NoError(t, err)
		err = guard.checkURL(u)
		if err == nil {
			err = guard.checkIP(newTarget(u).host, netip.MustParseAddr(c.ip))
		}
		if c.want == "" {
			require.NoError(t, err, "%+v", c)
		} else {
			require.ErrorContains(t, err, c.want, "%+v", c)
		}
	}
	for _, bad := range []string{"", "*", "http://a.example", "a b", "10.0.0.0/33", "a.*.example", "-a"} {
		require.ErrorContains(t, HostRules{Deny: []string{bad}}.Validate(), "deny_hosts", bad)
	}
}

// What a name leads to is looked at when the connection is made: an answer of a name server that changes gets nobody in.
func TestHTTPLooksAtTheAddressThatANameLeadsTo(t *testing.T) {
	var calls atomic.Int64
	url := strings.Replace(serve(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) }), "127.0.0.1", "localhost", 1)
	_, err := callHTTP(t, HTTP{URL: url}, "{}")
	require.NoError(t, err)
	_, err = callHTTP(t, HTTP{URL: url, Hosts: []HostRules{{Deny: []string{"127.0.0.0/8", "::1"}}}}, "{}")
	require.ErrorContains(t, err, "the request was not sent: the address ")
	require.ErrorContains(t, err, "is in deny_hosts")
	require.Equal(t, KindPermanent, Judge(err, DefaultPolicy()).Kind)
	require.EqualValues(t, 1, calls.Load(), "nor by a connection that another type has made")
}
