#!/usr/bin/env bash
# Measures reax beside its peers: bash bench/peers.sh [flags of "bench peers", such as -runs 5 -systems reax,asynq].
# It installs Redis and PostgreSQL from the distribution where they are missing; the benchmark starts its own servers on
# loopback, with data of their own, and ends them.
set -euo pipefail
cd "$(dirname "$0")"

root=()
if [ "$(id -u)" -ne 0 ]; then root=(sudo -n); fi

# need PROGRAM PACKAGE... installs without starting the distribution's own service.
need() {
	local program=$1
	shift
	compgen -G "$program" >/dev/null && return
	"${root[@]}" apt-get update -qq
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

need /usr/bin/redis-server redis-server
need '/usr/lib/postgresql/*/bin/postgres' postgresql
exec go run . peers "$@"
