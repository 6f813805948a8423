package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
)

// listenAddress checks addr and resolves its name. loopback means that nothing but this machine can reach it.
func listenAddress(ctx context.Context, addr string) (resolved string, loopback bool, err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", false, fmt.Errorf("the address %q is not HOST:PORT, such as %s", addr, defaultAddr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", false, fmt.Errorf("the address %q has no port from 0 to 65535", addr)
	}
	if host == "" {
		return addr, false, nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(ips) == 0 {
		return "", false, fmt.Errorf("the host of the address %q is not known", addr)
	}
	chosen := ips[0].Unmap()
	for _, ip := range ips {
		// A name that leads to several places is as open as the most open of them.
		if !ip.Unmap().IsLoopback() {
			return addr, false, nil
		}
		if ip.Unmap().Is4() {
			chosen = ip.Unmap()
		}
	}
	return net.JoinHostPort(chosen.String(), port), true, nil
}

// hostNames are the names by which a server that other machines reach may be asked for: those of the configuration, the
// one that it listens on, and what the machine calls itself.
func hostNames(configured []string, addr string) []string {
	names := append([]string{}, configured...)
	if host, _, err := net.SplitHostPort(addr); err == nil && host != "" {
		names = append(names, host)
	}
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	return names
}

// needsAccount is why a server does not start.
func needsAccount(addr, database string) error {
	return fmt.Errorf("reax does not listen on %s as long as there are no accounts: other machines could reach it there and do everything. "+
		"Make the first account with\n  reax user add NAME --role admin --db %s\nor use a loopback address such as %s", addr, database, defaultAddr)
}
