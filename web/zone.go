package web

import (
	"os"
	"strings"
	"sync"
	"time"
)

// serverZone is the zone of the machine, by its name in the IANA database; UTC when that cannot be told.
var serverZone = sync.OnceValue(func() *time.Location {
	name, set := os.LookupEnv("TZ")
	if !set {
		target, err := os.Readlink("/etc/localtime")
		if err != nil {
			return time.UTC
		}
		_, name, _ = strings.Cut(target, "zoneinfo/")
	}
	if zone, ok := zoneOf(strings.TrimPrefix(name, ":")); ok {
		return zone
	}
	return time.UTC
})
