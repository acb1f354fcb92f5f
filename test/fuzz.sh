#!/bin/sh
# Fuzzes every Fuzz* function of the module, one at a time.
#
#   sh test/fuzz.sh 30s            30 s each
#   sh test/fuzz.sh 30s -json      flags for go test follow
set -eu
time=$1
shift

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# go test -list prints the names, then one line for the package.
# The packages of test/ are left out: they bring up a lab.
packages=$(go list ./... | grep -v /test/)
# shellcheck disable=SC2086 # one argument a package is what is wanted
go test -list '^Fuzz' $packages >"$tmp/list" || {
	cat "$tmp/list" >&2
	exit 1
}
awk '/^Fuzz/ { name[n++] = $1 }
     /^ok/   { for (i = 0; i < n; i++) print $2, name[i]; n = 0 }' "$tmp/list" >"$tmp/targets"

count=$(wc -l <"$tmp/targets")
if [ "$count" -eq 0 ]; then
	echo "no fuzz targets"
	exit 0
fi

fuzz() { go test "$@" -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$package" >"$tmp/out" 2>&1; }

failed=0
while read -r package name; do
	if ! fuzz "$@" </dev/null; then
		# Go's fuzzing coordinator may lose a race with its own deadline and
		# fail without having found anything (golang/go#75804): once more.
		if grep -q 'context deadline exceeded' "$tmp/out" && ! grep -q 'Failing input written' "$tmp/out"; then
			fuzz "$@" </dev/null || failed=1
		else
			failed=1
		fi
	fi
	cat "$tmp/out"
done <"$tmp/targets"
exit $failed
