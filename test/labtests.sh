#!/bin/sh
# Runs the tests that need a lab, in four parts, each with labs of its own. As many parts
# run at once as there are cores, and one more while the machine has time left: what they do most
# is wait, for kubelets, heartbeats and time limits, but a lab with nodes takes a third of a core
# for itself. With four on two slow cores, tests did not end within their time.
#
#   sh test/labtests.sh '' PACKAGE…            all of them
#   sh test/labtests.sh '-v -run=X' PACKAGE…   flags for go test; with -run, one part
#
# The first part has the shared lab, which stays up. The others disturb a whole lab:
# repairs, rotations, and the lab's own tests behind the incident with multus. Their labs
# are gone when they end. Within a part, packages take turns.
set -u
part=shared
if [ "$1" = --part ]; then
	part=$2
	shift 2
fi
flags=$1
shift

# shellcheck disable=SC2086 # one argument a flag is what is wanted
tests() { go test -count=1 -p 1 -timeout 75m $flags "$@"; }

case " $flags" in
*' -run'* | *' --run'*)
	tests "$@"
	exit
	;;
esac

repairs='^Test(FixAPIInt|RestartSafe|FixKubeadm)$' rotations='^TestRotate$' multus='^TestMultus$'
e2e='' lab='' others=''
for package; do
	case $package in
	*/test/e2e) e2e=$package ;;
	*/test/lab) lab=$package ;;
	*) others="$others $package" ;;
	esac
done

failed=0
case $part in
repairs)
	[ -z "$e2e" ] || tests -run "$repairs" "$e2e" || failed=1
	exit $failed
	;;
rotations)
	[ -z "$e2e" ] || tests -run "$rotations" "$e2e" || failed=1
	exit $failed
	;;
lab)
	[ -z "$e2e" ] || tests -run "$multus" "$e2e" || failed=1
	[ -z "$lab" ] || tests -parallel 4 "$lab" || failed=1
	exit $failed
	;;
esac

tmp=$(mktemp -d)
takers=
# What runs in another part would bring its lab up again, so that goes first: each taker
# is a session, and with it a process group, of its own.
# shellcheck disable=SC2317 # called by the trap
end() {
	for t in $takers; do kill -- "-$t" 2>/dev/null || kill "$t" 2>/dev/null; done
	for t in $takers; do wait "$t"; done
	for name in repairs rotations lab; do LAB_DIR=$tmp/$name go run ./test/lab down >/dev/null; done
	rm -rf "$tmp"
}
trap end EXIT
trap 'exit 130' INT TERM

cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
beside=$((cores - 1))
[ "$beside" -ge 1 ] || beside=1
[ "$beside" -le 3 ] || beside=3
# Nodes of several labs take more inotify instances than Linux allows a user by
# default. Where that can't be raised, all parts take turns.
instances=/proc/sys/fs/inotify/max_user_instances turns=
if [ -r "$instances" ] && [ "$(cat "$instances")" -lt 512 ]; then
	{ echo 512 >"$instances"; } 2>/dev/null || turns=1 beside=1
fi

# The next part, the longest first, runs where one is done.
# shellcheck disable=SC2016 # $-words are the inner shell's
take='when=$1 cores=$2 script=$3 tmp=$4 flags=$5
shift 5
idle() { # fewer processes ran than there are cores
	IFS=" " read -r load _ </proc/loadavg && [ "${load%.*}" -lt "$cores" ]
}
failed=0
for name in lab rotations repairs; do
	while [ "$when" = idle ] && [ ! -d "$tmp/$name.taken" ] && sleep 60 && ! idle; do :; done
	mkdir "$tmp/$name.taken" 2>/dev/null || continue
	LAB_DIR=$tmp/$name sh "$script" --part "$name" "$flags" "$@" >"$tmp/$name.said" 2>&1 || failed=1
	LAB_DIR=$tmp/$name go run ./test/lab down >/dev/null # it takes a third of a core
done
exit $failed'
taker() { # shellcheck disable=SC2046 # nothing, where there is no setsid
	when=$1
	shift
	$(command -v setsid) sh -c "$take" take "$when" "$cores" "$0" "$tmp" "$flags" "$@" &
	takers="$takers $!"
}
n=0
while [ $n -lt "$beside" ]; do
	taker now "$@"
	[ -z "$turns" ] || wait $! || failed=1
	n=$((n + 1))
done
[ -n "$turns" ] || taker idle "$@"

# shellcheck disable=SC2086 # one argument a package is what is wanted
[ -z "$e2e$others" ] || tests -skip "$repairs|$rotations|$multus" $others $e2e || failed=1
if [ -z "$turns" ]; then
	taker now "$@"
	for t in $takers; do wait "$t" || failed=1; done
fi
takers=
cat "$tmp/repairs.said" "$tmp/rotations.said" "$tmp/lab.said" # only now, so that their lines don't mix
exit $failed
