package cli

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// loopbackAddress checks addr and resolves its name. Until there are accounts, whoever reaches the dashboard may do
// everything on it, so nothing but this machine may reach it.
func loopbackAddress(ctx context.Context, addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("the address %q is not HOST:PORT, such as %s", addr, defaultAddr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", fmt.Errorf("the address %q has no port from 0 to 65535", addr)
	}
	refused := fmt.Errorf("reax does not listen on %s: other machines could reach it there, and this version has no accounts "+
		"to keep them out. Use a loopback address such as %s", addr, net.JoinHostPort("127.0.0.1", port))
	if host == "" {
		return "", refused
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(ips) == 0 {
		return "", fmt.Errorf("the host of the address %q is not known", addr)
	}
	chosen := ips[0].Unmap()
	for _, ip := range ips {
		// A name that leads to several places is as open as the most open of them.
		if !ip.Unmap().IsLoopback() {
			return "", refused
		}
		if ip.Unmap().Is4() {
			chosen = ip.Unmap()
		}
	}
	return net.JoinHostPort(chosen.String(), port), nil
}
