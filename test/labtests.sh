#!/bin/sh
# Runs the tests that need a lab, in two halves beside each other, each with a lab
# of its own: what they do most is wait, for kubelets, heartbeats and time limits.
#
#   sh test/labtests.sh '' PACKAGE…            all of them
#   sh test/labtests.sh '-v -run=X' PACKAGE…   flags for go test; with -run, one half
#
# The first half has the shared lab, which stays up. The second has the repair of
# the api-int incident, that with multus, and the lab's own tests: they disturb a whole
# lab. Theirs is gone when they end. Within a half, packages take turns.
set -u
part=first
if [ "$1" = --second ]; then
	part=second
	shift
fi
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

# In the second half, in this order. The first has a lab of its own, and goes before
# the half's is up.
multus='^TestMultus$' repairs='^Test(FixAPIInt|RestartSafe)$'
e2e='' lab='' others=''
for package; do
	case $package in
	*/test/e2e) e2e=$package ;;
	*/test/lab) lab=$package ;;
	*) others="$others $package" ;;
	esac
done

failed=0
if [ $part = second ]; then
	[ -z "$e2e" ] || tests -run "$multus" "$e2e" || failed=1
	[ -z "$e2e" ] || tests -run "$repairs" "$e2e" || failed=1
	[ -z "$lab" ] || tests -parallel 4 "$lab" || failed=1
	exit $failed
fi

tmp=$(mktemp -d)
half=
# What runs in the second half would bring its lab up again, so that goes first: it
# is a session, and with it a process group, of its own.
# shellcheck disable=SC2317 # called by the trap
end() {
	[ -z "$half" ] || kill -- "-$half" 2>/dev/null || kill "$half" 2>/dev/null
	[ -z "$half" ] || wait "$half"
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

# shellcheck disable=SC2046 # nothing, where there is no setsid
LAB_DIR=$tmp/lab $(command -v setsid) sh "$0" --second "$flags" "$@" >"$tmp/said" 2>&1 &
half=$! second=0
[ -z "$turns" ] || wait "$half" || second=1

# shellcheck disable=SC2086 # one argument a package is what is wanted
[ -z "$e2e$others" ] || tests -skip "$multus|$repairs" $others $e2e || failed=1
[ -n "$turns" ] || wait "$half" || second=1
[ $second -eq 0 ] || failed=1
half=
cat "$tmp/said" # only now, so that their lines don't mix
exit $failed
