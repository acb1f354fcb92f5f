#!/bin/sh
# Runs the tests that need a lab, in two halves beside each other, each with a lab
# of its own: what they do most is wait, for kubelets, heartbeats and time limits.
#
#   sh test/labtests.sh '' PACKAGE…            all of them
#   sh test/labtests.sh '-v -run=X' PACKAGE…   flags for go test; with -run, one half
#
# The first half has the shared lab, which stays up. The second has the repair of
# the api-int incident, and the lab's own tests: they disturb a whole lab. Theirs is
# gone when they end. Within a half, packages take turns.
set -u
flags=$1
shift

# shellcheck disable=SC2086 # one argument a flag is what is wanted
tests() { go test -count=1 -p 1 -timeout 45m $flags "$@"; }

case " $flags" in
*' -run'* | *' --run'*)
	tests "$@"
	exit
	;;
esac

repairs='^TestFixAPIInt$'
first='' second='' e2e=''
for package; do
	case $package in
	*/test/e2e) first="$first $package" e2e=$package ;;
	*/test/lab) second="$second $package" ;;
	*) first="$first $package" ;;
	esac
done

tmp=$(mktemp -d)
half='' half_failed=''
# shellcheck disable=SC2317 # called by the trap
end() {
	[ -z "$half" ] || kill "$half" 2>/dev/null
	LAB_DIR=$tmp/lab go run ./test/lab down >/dev/null
	rm -rf "$tmp"
}
trap end EXIT
trap 'exit 130' INT TERM

# Nodes of two labs take more inotify instances than Linux allows a user by default.
# Where that can't be raised, the halves take turns.
instances=/proc/sys/fs/inotify/max_user_instances turns=
if [ -r "$instances" ] && [ "$(cat "$instances")" -lt 512 ]; then
	{ echo 512 >"$instances"; } 2>/dev/null || turns=1
fi

# Not LAB_NODES: both halves have the nodes that are asked for.
(
	export LAB_DIR="$tmp/lab"
	failed=0
	[ -z "$e2e" ] || tests -run "$repairs" "$e2e" || failed=1
	# shellcheck disable=SC2086 # one argument a package is what is wanted
	[ -z "$second" ] || tests -parallel 4 $second || failed=1
	exit $failed
) >"$tmp/said" 2>&1 &
half=$!
[ -z "$turns" ] || wait "$half" || half_failed=1

failed=0
# shellcheck disable=SC2086 # one argument a package is what is wanted
[ -z "$first" ] || tests -skip "$repairs" $first || failed=1
[ -n "$turns" ] || wait "$half" || half_failed=1
[ -z "$half_failed" ] || failed=1
half=
cat "$tmp/said" # only now, so that their lines don't mix
exit $failed
