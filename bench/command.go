package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"reax/bench/peers"
	"reax/bench/sizes"
)

// command runs a part that is named by the first argument and has flags of its own, and says whether there is one.
func command(args []string) bool {
	if len(args) == 0 {
		return false
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch args[0] {
	case "peers":
		err = peers.Main(ctx, args[1:])
	case "peer":
		err = peers.Child(args[1:])
	case "sizes":
		err = sizes.Main(ctx, args[1:])
	case "size":
		err = sizes.Child(ctx, args[1:])
	default:
		return false
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
		stop()
		os.Exit(1)
	}
	return true
}
