#!/usr/bin/env bash
# Fuzzes each target for a while: bash scripts/fuzz.sh [time for each, default 20s]. What it finds is left in testdata/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."

while IFS=: read -r file target; do
	echo "==> $target in $(dirname "$file")"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-20s}" "./$(dirname "$file")"
done < <(grep -roE --include='*_test.go' '^func Fuzz\w+' . | sed 's/func //' | sort)
