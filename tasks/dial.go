package tasks

import (
	"context"
	"net"
	"net/url"
)

// Dialer makes connections only to where all of the rules allow, as those of HTTP types are. It goes by what the name in
// the address leads to when it connects. The error of a refused host is permanent.
func Dialer(rules []HostRules) (func(ctx context.Context, network, address string) (net.Conn, error), error) {
	guard, err := newHostGuard(rules)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		to := &url.URL{Host: address}
		if err := guard.checkURL(to); err != nil {
			return nil, refusedOf(err)
		}
		conn, err := guard.dialer().DialContext(context.WithValue(ctx, targetKey{}, newTarget(to)), network, address)
		if refused := refusedOf(err); refused != nil {
			return nil, refused
		}
		return conn, err
	}, nil
}
