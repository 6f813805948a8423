#!/usr/bin/env bash
# The one command that says whether the project is sound: bash scripts/test.sh [arguments for go test].
# It needs Go and a Debian-like system; what else is missing it installs. It ends with the number of tests that ran.
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null

failed=()

say() { printf '\n==> %s\n' "$*"; }

# step NAME COMMAND... runs a check, times it, and goes on after a failure: one run shows all there is to mend.
step() {
	local name=$1 began=$SECONDS
	shift
	say "$name"
	if "$@"; then
		echo "    ok, $((SECONDS - began)) s"
	else
		echo "    FAILED, $((SECONDS - began)) s"
		failed+=("$name")
	fi
}

# need COMMAND PACKAGE... installs Debian packages when the command is not there.
need() {
	local command=$1
	shift
	command -v "$command" >/dev/null && return
	local root=()
	if [ "$(id -u)" -ne 0 ]; then
		root=(sudo -n)
		command -v sudo >/dev/null || { echo "$command is missing: install $*" >&2; exit 1; }
	fi
	command -v apt-get >/dev/null || { echo "$command is missing and this is no Debian: install it" >&2; exit 1; }
	say "installing $*"
	local try
	for try in 1 2; do
		if "${root[@]}" apt-get update -qq &&
			"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null; then
			return
		fi
		echo "    try $try failed" >&2
	done
	echo "$command could not be installed" >&2
	exit 1
}

templ() { go tool -modfile=tools.mod templ "$@"; }
lint() { go tool -modfile=lint.mod golangci-lint "$@"; }

modules_are_tidy() { go mod tidy -diff >/dev/null || { echo "run: go mod tidy"; return 1; }; }

# The checksums are compared and not the commit, so that a checkout with changes can be tested.
generated_code_is_current() {
	local before after
	before=$(generated_sums)
	templ generate -log-level error || return
	after=$(generated_sums)
	[ "$before" = "$after" ] && return
	echo "the templates and their generated code differed; it is generated anew now, commit it:"
	diff <(echo "$before") <(echo "$after") | sed -n 's/^>.*  /  /p'
	return 1
}
generated_sums() { find . -name '*_templ.go' -not -path './.git/*' -exec sha256sum {} + | sort -k2; }

formatted() {
	local files
	files=$(find . -name '*.go' -not -name '*_templ.go' -not -path './.git/*' -exec "$(go env GOROOT)/bin/gofmt" -l {} +)
	[ -z "$files" ] || { echo "gofmt would change:"; echo "$files"; return 1; }
}

# The benchmarks are a module of their own, so that their peers' libraries stay out of the program's go.mod.
bench_builds() { (cd bench && go vet ./... && go test ./...); }

command -v go >/dev/null || { echo "Go is missing: see https://go.dev/doc/install" >&2; exit 1; }
need gcc gcc libc6-dev # SQLite and the race detector are C
need python3 python3   # the examples run a Python script
if grep -q chromedp go.mod; then need chromium chromium fonts-noto-cjk; fi # the browser tests, with letters for the Chinese pages
export CGO_ENABLED=1

step "modules are tidy" modules_are_tidy
step "generated code is current" generated_code_is_current
step "gofmt" formatted
step "go vet" go vet ./...
step "lint" lint run
if [ -f bench/go.mod ]; then step "bench is sound" bench_builds; fi

# Last, so that the number of tests is the last thing to read. More at a time than there are processors, since tests that
# wait for a browser or a killed server leave one idle, and the two longest packages first. Vet has had its step.
say "tests"
go tool -modfile=tools.mod gotestsum --format standard-quiet -- \
	-race -vet=off -p $(($(nproc) + 1)) -parallel $((2 * $(nproc))) -timeout 15m "$@" ./e2e ./actors ./... || failed+=(tests)

if [ ${#failed[@]} -gt 0 ]; then
	printf '\nFAILED: %s\n' "$(IFS=,; echo "${failed[*]}")"
	exit 1
fi
