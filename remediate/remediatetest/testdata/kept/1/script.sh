#!/bin/sh
# Makes the kubelet of node worker-0 trust the API server's CA, and restarts it:
# what "certrot fix-api-int" does to a node, for a person at its console or in ssh,
# without certrot, oc and the API server. Read it, copy it to the node, and as root:
#
#   sh fix-api-int-worker-0.sh --dry-run   what it would do; it changes nothing
#   sh fix-api-int-worker-0.sh             shows that, asks, does it
#   sh fix-api-int-worker-0.sh undo        puts back what it changed
#
# --yes does not ask. --accept-risk=unverified-server goes on where the node has
# neither openssl nor curl to ask what the server shows. --accept-risk=breaks-trust
# lets undo put back what does not trust it.
#
# Running it twice is harmless, and so is interrupting it: each file is before or
# after, never between; then run it again. Pods go on running. What was there before
# stays in /var/lib/certrot/run-1; "certrot undo run-1 --from-nodes" knows it, too.
#
# Exit codes: 0 done, or so already; 1 a dry run would change something; 2 usage;
# 4 something failed half-way; 5 refused, nothing was changed.
#
# Made 2026-11-23T10:30:00Z by certrot v0.0.0-kept. The CAs in it are from
# a test:
#   CN=loadbalancer-serving-signer, until 2046-01-01T00:00:00Z, sha256 479fa44fbc4645123c9ecd151d6e1dad75f5d38f030d077f4d1963ae48ef95a4
#   CN=kube-apiserver-localhost-signer, until 2046-01-01T00:00:00Z, sha256 5bf57ae0d3c2dff78ef3e7f337c2f23b22332b53745bc9e022581da5e28a6bd9
#   CN=kube-apiserver-service-network-signer, until 2046-01-01T00:00:00Z, sha256 bb2d7c101bf26e984f7e6facc091dff5779ffa6dbf6a5dfc6274a06b06de4d40
# There is no key and no token in it. Known when it was made:
#
# While it changes something, it says so in /var/lib/certrot/.held, as certrot does, and is
# refused where somebody else says so there.
# shellcheck shell=sh
# Where a fails in "a && b || refuse", refuse is what is wanted.
# shellcheck disable=SC2015

LC_ALL=C TZ=UTC0
export LC_ALL TZ
umask 077
unset IFS
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin

node='worker-0'
folder='/var/lib/certrot'
run='run-1'
hold_seconds=1800 # how long a node stays held by somebody who is silent
# The file to join with, which does nothing as long as the kubelet's client
# certificate is valid; then the one that it works with.
bootstrap='/etc/kubernetes/kubeconfig'
own='/var/lib/kubelet/kubeconfig'
setup='OpenShift' # who has them there
joins='' # not empty: who sets nodes up deletes the first one when they have joined
# The sha256 of these files when the node was read; empty: it was not.
bootstrap_was=''
own_was=''
ca_sha256='32e21b92d65277f1c440faf7bf6a02e22cffc72c95d34dca2a884c984dc33b68'
client=/var/lib/kubelet/pki/kubelet-client-current.pem
me=$0
[ -f "$me" ] || me='fix-api-int-worker-0.sh' # it came by stdin
holder=''
nl='
'

# ca prints what the kubelet is to trust.
ca() {
	cat <<'CERTROT_CA'
-----BEGIN CERTIFICATE-----
MIIBgzCCASqgAwIBAgIIazKce83C8EgwCgYIKoZIzj0EAwIwJjEkMCIGA1UEAxMb
bG9hZGJhbGFuY2VyLXNlcnZpbmctc2lnbmVyMB4XDTI2MDEwMTAwMDAwMFoXDTQ2
MDEwMTAwMDAwMFowJjEkMCIGA1UEAxMbbG9hZGJhbGFuY2VyLXNlcnZpbmctc2ln
bmVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEHVqyjwJReCQO58IVBkvs/IsT
cXpox5y8uh6eTH8WNcrjD+qozc7Zwn6KcblVSDm4y3PjY5ARudu2U7umFaF0CaNC
MEAwDgYDVR0PAQH/BAQDAgKkMA8GA1UdEwEB/wQFMAMBAf8wHQYDVR0OBBYEFH9B
Mysq4Kwk4LIkGy7qhLd/2O1tMAoGCCqGSM49BAMCA0cAMEQCICNsmeC/P5lngUpA
+iuDtB0Qz6NU8snrDK8rZaoBgdh1AiBerfR8quaZAbzyXZnXcyYiTOnG31+xKUe2
x+ywKQ/nmg==
-----END CERTIFICATE-----
-----BEGIN CERTIFICATE-----
MIIBjTCCATKgAwIBAgIIdC1ZnRGcCbcwCgYIKoZIzj0EAwIwKjEoMCYGA1UEAxMf
a3ViZS1hcGlzZXJ2ZXItbG9jYWxob3N0LXNpZ25lcjAeFw0yNjAxMDEwMDAwMDBa
Fw00NjAxMDEwMDAwMDBaMCoxKDAmBgNVBAMTH2t1YmUtYXBpc2VydmVyLWxvY2Fs
aG9zdC1zaWduZXIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQeZay4CEGVn5Kr
2jAMfKBG083XdjzagcqI7l9ruPK+L5aHskTjn0TCRmbeYmGBTpuK7vo+FCrfwukO
e7UBxxP4o0IwQDAOBgNVHQ8BAf8EBAMCAqQwDwYDVR0TAQH/BAUwAwEB/zAdBgNV
HQ4EFgQUbrKYCQTeUFEEhSz26hVBb17zAKswCgYIKoZIzj0EAwIDSQAwRgIhAPZe
i1OyNrUl2RAH9x/NUAE0IipbBYOfkeAUEbSMt95CAiEArZZ8dxAtmHUxjlOYaWIF
t8bSbJT3BQh5qVcHH4m6B00=
-----END CERTIFICATE-----
-----BEGIN CERTIFICATE-----
MIIBlzCCAT6gAwIBAgIIchCqaYHJNtIwCgYIKoZIzj0EAwIwMDEuMCwGA1UEAxMl
a3ViZS1hcGlzZXJ2ZXItc2VydmljZS1uZXR3b3JrLXNpZ25lcjAeFw0yNjAxMDEw
MDAwMDBaFw00NjAxMDEwMDAwMDBaMDAxLjAsBgNVBAMTJWt1YmUtYXBpc2VydmVy
LXNlcnZpY2UtbmV0d29yay1zaWduZXIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AASH70s8C6P3BfcSlW1lqrjb342/zgJca7+T1NvsGEfCoTLDB/26h10BChBNUP27
/rLrm3zJt5iyJCZXoS8MXTmVo0IwQDAOBgNVHQ8BAf8EBAMCAqQwDwYDVR0TAQH/
BAUwAwEB/zAdBgNVHQ4EFgQU4i7MOj+eUXXOQ3ODmIQavQ4ewtIwCgYIKoZIzj0E
AwIDRwAwRAIgcwKCuAgqrNBwbWsI6pd28MS+uDJ14mAFgXJ1ed/SuIsCICO89Q9P
KZylnX/Sl1iQK7C5PAmZrpK13EwOwcdpL2be
-----END CERTIFICATE-----
CERTROT_CA
}

# host_sh prints the script with which certrot changes files on nodes: it keeps what
# was there, and a new file takes its place when it is complete and on the disk.
host_sh() {
	cat <<'CERTROT_HOST'
#!/bin/sh
# Changes files on a node and puts them back, and restarts units. It is two
# things in one text, so that both do the same:
#
#   sh -c 'eval "$1"' certrot TEXT OPERATION ARGUMENT...   what certrot runs
#   sh FOLDER/RUN/undo                                     for a person: puts all
#                                                          files of a run back
#
# It runs under any POSIX shell (dash, bash, busybox) with the tools of coreutils
# or busybox. What it is told comes as arguments, what it inserts by stdin; no
# name is ever part of a command's text. No bytes of a file are printed.
#
# A run's folder, FOLDER/RUN:
#
#   file-SHA256      an entry: one file that the run changed or took away; of its path
#   link-SHA256      an entry: one symbolic link that the run took away; of its path
#   back-ENTRY       an entry that was put back: nothing of it is the run's any more
#   before-SHA256    the bytes such a file had; of the bytes
#   undo             this text
#   restarted-UNIT   empty: the run had this unit restarted
#   pending          the path whose new file may lie unfinished beside it
#   tmp-??????       unfinished
#
# Beside them, FOLDER/.held: who changes this node, since when (seconds since 1970), and
# the boot in which that was.
#
# A file is changed by a new one that takes its name when it is complete and on
# the disk. Its entry is on the disk before that, and the bytes it had before
# that. So there is no moment at which a file is neither before nor after, or at
# which its way back is missing.
#
# A run owns what it changed. An entry goes where the change failed; and where another
# run changes a file that is as it was before this one: interrupted before its change,
# or put back by hand. What the run itself put back, it owns no more, whatever is written
# there later; that is said after the file is back, by another name of its entry. Equal
# bytes that another run wrote later are that run's. Which change is
# later, its number says and no clock: under the lock, a change gets the next number of
# all that were ever made to its path. Entries of an older certrot have no numbers; they
# come before those that have, and among themselves by time.
# shellcheck shell=sh
# Operations are called by name. And where a fails in "a && b || fail", fail is
# what is wanted.
# shellcheck disable=SC2317,SC2015

LC_ALL=C TZ=UTC0
export LC_ALL TZ
umask 077
unset IFS
nl='
'
temp='' draft='' scrap='' pending='' locked='' fresh=''

has() { command -v "$1" >/dev/null 2>&1; }

# ---- how an operation ends --------------------------------------------------

# finish ends well: with "changed" or "same".
finish() {
	printf 'done %s\n' "$1"
	exit 0
}

# fail ends with one of the codes changed, refused, busy, norun, failed and
# unknown, and with why.
fail() {
	code=$1 why=$2
	# With any other code nothing was changed.
	[ -z "$fresh" ] || [ "$code" = unknown ] || rm -f "$fresh"
	while :; do
		case $why in
		*"$nl"*) why="${why%%"$nl"*}; ${why#*"$nl"}" ;;
		*) break ;;
		esac
	done
	printf 'fail %s %s\n' "$code" "$why"
	exit 1
}

# try runs a command that has nothing to print, or fails: DOING COMMAND...
try() {
	doing=$1
	shift
	message=$("$@" 2>&1) || fail failed "$doing: ${message:-$1 says nothing more}"
}

# tidy removes what is not finished. What it can't remove stays pending.
tidy() {
	[ -z "$draft" ] || rm -f "$draft"
	[ -z "$scrap" ] || rm -f "$scrap"
	if [ -z "$temp" ] || rm -f "$temp"; then
		[ -z "$pending" ] || rm -f "$pending"
	fi
}

# alone runs an operation so that its end is its own.
alone() {
	(
		trap tidy EXIT
		trap 'exit 1' HUP INT TERM PIPE
		"$@"
	)
}

# ---- what is there ----------------------------------------------------------

# facts sets kind, and links, size, uid, gid and mode.
facts() {
	kind=other
	if ! line=$(stat -c '%f %h %s %u %g %a %i %Y %Z' "$1" 2>&1); then
		case $line in
		*': No such file or directory' | *': Not a directory')
			kind=absent
			return
			;;
		esac
		fail failed "look at $1: $line"
	fi
	# shellcheck disable=SC2086 # numbers
	set -- $line
	case $1 in
	8???) kind=regular ;;
	a???) kind='link' ;;
	4???) kind=directory ;;
	esac
	links=$2 size=$3 uid=$4 gid=$5 mode=$6
}

# sum sets sha to the sha256 of a file, or to why there is none.
sum() {
	sha=$({ sha256sum <"$1"; } 2>&1) || return 1
	sha=${sha%% *}
	[ ${#sha} -eq 64 ] || return 1
	case $sha in
	*[!0-9a-f]*) return 1 ;;
	esac
}

# labelled sets label to the SELinux label, or ? where it is not to be had.
labelled() {
	label=$(stat -c %C "$1" 2>/dev/null) || :
	case $label in
	*"$nl"*) label='?' ;;
	*:*) ;;
	*) label='?' ;; # busybox without SELinux prints C
	esac
}

# state sets what facts sets; and for a regular file sha and label, all of the
# same moment.
state() {
	tries=3
	while
		facts "$1"
		[ "$kind" = regular ]
	do
		was=$line read=1
		sum "$1" || read=
		labelled "$1"
		facts "$1"
		if [ "$line" = "$was" ]; then
			[ -n "$read" ] || fail failed "read $1: $sha"
			return
		fi
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || fail failed "$1 changes all the time"
	done
}

# show prints what state found.
show() {
	case $kind in
	regular) printf 'file regular %s %s %s %s %s %s\n' "$sha" "$size" "$mode" "$uid" "$gid" "$label" ;;
	*) printf 'file %s\n' "$kind" ;;
	esac
}

changed() {
	show
	fail changed "$1"
}

# plain fails unless state found a regular file of one name.
plain() {
	case $kind in
	regular) [ "$links" = 1 ] || fail refused "it has $links names (hard links), and a new file would take only one of them" ;;
	absent) changed "it is gone" ;;
	directory) fail refused "it is a directory" ;;
	link) fail refused "it is a symbolic link: name the file that it leads to" ;;
	*) fail refused "it is no regular file" ;;
	esac
}

# ---- the folder of a run ----------------------------------------------------

# valid tells whether this may be a run's ID.
valid() {
	case $1 in
	'' | *[!a-z0-9-]*) return 1 ;;
	esac
	[ ${#1} -le 64 ]
}

# own fails unless a folder is ours alone. It returns 1 if there is none.
own() {
	facts "$1"
	[ "$kind" != absent ] || return 1
	[ "$kind" = directory ] || fail refused "$1 is a $kind and not a folder, so nothing is kept there: look who put it there"
	me=$(id -u)
	[ "$uid" = "$me" ] || fail refused "folder $1 belongs to user $uid, and this runs as user $me: run it as the folder's owner"
	case $mode in
	*[2367]? | *[2367]) fail refused "others may write to folder $1 (mode $mode): look what is in it, then chmod go-w it" ;;
	esac
}

# make makes a folder unless it is there.
make() {
	own "$1" && return
	try "make folder $1" mkdir -p "$1"
	try "sync ${1%/*}/" sync "${1%/*}/"
	own "$1" || fail failed "folder $1 is gone again"
}

# lock keeps other runs away until the operation ends. Where there is no flock,
# what guards is that nothing is written over what was not shown.
lock() {
	has flock || return 0
	try "lock $folder" touch "$folder/.lock"
	exec 9>>"$folder/.lock"
	for pause in 1 1 ''; do
		flock -n 9 2>/dev/null
		case $? in
		0)
			locked=1
			return
			;;
		1) ;;
		*) return 0 ;; # this file system has no locks
		esac
		# What was killed may take a moment to let go.
		[ -z "$pause" ] || sleep "$pause"
	done
	fail busy "another certrot is at work on this node: wait for its end"
}

# sweep removes what a killed attempt of this run left; and of any other run,
# where the lock says that none is at work: it may hold a token. run may be empty.
sweep() {
	[ -z "$run" ] || swept "$run"
	[ -n "$locked" ] || return 0
	rm -f "$folder/.held-"??????
	for other in "$folder"/*; do
		valid "${other##*/}" || continue
		for rest in "$other/pending" "$other/tmp-"??????; do
			[ ! -f "$rest" ] || swept "$other"
		done
	done
}

# swept removes what a killed attempt left: FOLDER/RUN
swept() {
	if [ -f "$1/pending" ]; then
		IFS= read -r left <"$1/pending" || :
		case $left in
		/*) try "remove what an earlier attempt left beside $left" rm -f "${left%/*}/.certrot-${1##*/}-"?????? ;;
		esac
	fi
	try "remove what an earlier attempt left in $1" rm -f "$1/tmp-"?????? "$1/pending"
}

# spill writes a text to a file. Unlike some shells, cat says why it can't.
spill() { printf '%s\n' "$1" | cat >"$2" && [ "$(cat "$2")" = "$1" ]; }

copy() { cat <"$1" >"$2"; }

# settle puts a file on the disk, then gives it its name in the run's folder.
settle() {
	try "sync $1" sync "$1"
	try "rename $1 to $2" mv -f "$1" "$2"
	try "sync $run" sync "$run"
}

# note writes a small file of the run: NAME TEXT [MODE]
note() {
	made=$(mktemp "$run/tmp-XXXXXX" 2>&1) || fail failed "make a file in $run: $made"
	scrap=$made
	try "write $run/$1" spill "$2" "$scrap"
	[ -z "${3-}" ] || try "chmod $run/$1" chmod "$3" "$scrap"
	settle "$scrap" "$run/$1"
	scrap=''
}

# entryof sets entry to the name that a path's entry has.
entryof() {
	entry=$(printf '%s' "$1" | sha256sum) || fail failed "sha256sum: $entry"
	entry=file-${entry%% *}
}

# load reads an entry: e_path; e_sha and so on are what the file was before the
# run; e_after is what the run put there, or was about to, and e_order the number of each.
load() {
	from=$1
	e_path='' e_sha='' e_after='' e_order='' head='' whole='' odd=''
	while IFS= read -r line; do
		case $line in
		'certrot-file 1') head=1 ;;
		'path /'*) e_path=${line#path } ;;
		'before '*)
			line=${line#before }
			# shellcheck disable=SC2086 # a hash and numbers
			set -- $line
			e_sha=$1 e_size=$2 e_mode=$3 e_uid=$4 e_gid=$5
			e_label=${line#"$1 $2 $3 $4 $5 "}
			;;
		# Of what the run made of it, - is that it took it away.
		'after '*) e_after=${line#after } ;;
		'order '*) e_order=${line#order } ;;
		end) whole=1 ;;
		*) odd=1 ;;
		esac
	done <"$from"
	aligned || odd=1
	[ "$head$whole$odd" = 11 ] && [ -n "$e_path" ] && [ ${#e_sha} -eq 64 ] && [ -n "$e_after" ] ||
		fail failed "$from can't be read as an entry: look at it, and at the files before-* beside it"
}

# forfeit takes its entry from each other run before which a path was as it is now: that
# was interrupted before its change, or was put back, and what comes now is not its own.
# SHA256 of the file, or TARGET of the link. Without the lock, one may be at work.
forfeit() {
	[ -n "$locked" ] || return 0
	for other in "$folder"/*; do
		valid "${other##*/}" || continue
		[ "$other" != "$run" ] && [ -f "$other/$entry" ] || continue
		[ "$(origin "$other/$entry")" = "$1" ] || continue
		# Equal bytes that a later run wrote: the other one's are beneath them.
		! (succeeded "$other") >/dev/null || continue
		try "take $entry from ${other##*/}" rm -f "$other/$entry"
	done
}

# succeeded tells whether what is at a path belongs to a later run than this: FOLDER/RUN. It
# is for a shell of its own.
succeeded() {
	run=$1
	state "$path"
	heir
	[ -n "$owner" ]
}

# yield takes the claim from an entry that was put back. It returns 1, and says why in
# message, if it can't.
yield() {
	message=$({ mv -f "$run/$entry" "$run/back-$entry" && sync "$run"; } 2>&1)
}

# putback ends well: what is at the path is as it was before the run, by what it did now.
putback() {
	yield || fail unknown "it was put back, and that may not be noted in $run: $message"
	printf '%s\n' "$result"
	finish changed
}

# already ends well: what is at the path is as it was before the run. Where a later run
# made it so, this one's change is beneath that, and still to be put back.
already() {
	if [ -f "$run/$entry" ] && ! (succeeded "$run") >/dev/null; then
		yield || fail failed "note in $run that it was put back: $message"
	fi
	show
	finish same
}

# origin prints what an entry says that was there before: a sha256, or a link's target.
origin() {
	case $entry in
	link-*)
		linked "$1"
		printf '%s\n' "$l_target"
		;;
	*)
		load "$1"
		printf '%s\n' "$e_sha"
		;;
	esac
}

# aligned tells whether e_order has a number for each change of e_after, or none at all.
aligned() {
	[ -n "$e_order" ] || return 0
	case $e_order in
	*[!0-9\ ]* | 0[0-9]* | *' 0'[0-9]*) return 1 ;;
	esac
	# shellcheck disable=SC2086 # numbers
	set -- $e_order
	count=$#
	# shellcheck disable=SC2086 # hashes
	set -- $e_after
	[ "$count" -eq $# ]
}

# numbered sets number to the number of a change of e_after, or to that of the last one
# where the entry has no such change; 0 where it has no numbers.
numbered() {
	number='' latest=0 change=$1
	# shellcheck disable=SC2086 # numbers
	set -- $e_order
	for word in $e_after; do
		[ "${1:-0}" -le "$latest" ] || latest=$1
		[ "$word" != "$change" ] || number=${1:-0}
		[ $# -eq 0 ] || shift
	done
	number=${number:-$latest}
}

# advance sets next to the number of a change to a path that is made now: one more than
# any that a run has for it.
advance() {
	next=1
	for other in "$folder"/*; do
		valid "${other##*/}" && [ -f "$other/$entry" ] || continue
		most=$(last "$other/$entry") || continue # heir says that it can't be read
		[ "$most" -lt "$next" ] || next=$((most + 1))
	done
}

# last prints the highest number of an entry.
last() {
	case $entry in
	link-*)
		linked "$1"
		number=${l_order:-0}
		;;
	*)
		load "$1"
		numbered ''
		;;
	esac
	printf '%s\n' "$number"
}

# append adds a change, and its number, to those of e_after. The last one is the newest.
append() {
	a_change=$1 a_after='' a_order=''
	# shellcheck disable=SC2086 # numbers
	set -- $e_order
	for word in $e_after; do
		if [ "$word" != "$a_change" ]; then
			a_after="$a_after$word " a_order="$a_order${1:-0} "
		fi
		[ $# -eq 0 ] || shift
	done
	e_after=$a_after$a_change e_order=$a_order$next
}

# heir sets owner to the run to which a path belongs as it is now, by a change that is
# later than that of this run; empty where there is none. state is that of the path.
heir() {
	owner='' passed='' target=''
	[ "$kind" != 'link' ] || target=$(readlink "$path") || :
	answer=$(rank "$run/$entry") || fail failed "${answer#fail failed }"
	# shellcheck disable=SC2086 # yes or no, and numbers
	set -- $answer
	newest=$2 written=$3
	for other in "$folder"/*; do
		valid "${other##*/}" && [ -f "$other/$entry" ] || continue
		if [ "$other" = "$run" ]; then
			passed=1
			continue
		fi
		answer=$(rank "$other/$entry") || fail failed "$other/$entry can't be read as an entry, and it may be that run's: look at it"
		# shellcheck disable=SC2086 # yes or no, and numbers
		set -- $answer
		[ "$1" = yes ] && newer "$2" "$3" || continue
		owner=${other##*/} newest=$2 written=$3 passed=1
	done
}

# newer tells whether a change is later than the newest one so far: NUMBER TIME. Without
# a lock or numbers, the time says; and of the same second, the later ID.
newer() {
	[ "$1" -eq "$newest" ] || {
		[ "$1" -gt "$newest" ]
		return
	}
	[ "$2" -gt "$written" ] || { [ "$2" -eq "$written" ] && [ -n "$passed" ]; }
}

# rank prints yes if what heir knows of a path is what an entry says that its run did,
# else no; the number of that change; and when the entry was written.
rank() {
	claim=no
	stamp=$(stat -c %Y "$1" 2>&1) || fail failed "look at $1: $stamp"
	case $entry in
	link-*)
		linked "$1"
		number=${l_order:-0}
		[ "$kind $target" = "link $l_target" ] || claim=yes
		;;
	*)
		load "$1"
		change=''
		case "$kind $e_after " in
		regular*" $sha "*) change=$sha ;;
		*' - '*) change=- ;; # and what is there now has come after that
		esac
		[ -z "$change" ] || [ "$kind $sha" = "regular $e_sha" ] || claim=yes
		numbered "$change"
		;;
	esac
	printf '%s %s %s\n' "$claim" "$number" "$stamp"
}

# belongs fails where what is at a path belongs to a later run.
belongs() {
	heir
	[ -z "$owner" ] || changed "run $owner changed it after this one: what is there is that run's, to be put back first"
}

# backed fails unless the bytes of a sha256 are kept.
backed() {
	facts "$run/before-$1"
	[ "$kind" = regular ] && sum "$run/before-$1" && [ "$sha" = "$1" ] ||
		fail failed "the bytes that were there before are not in $run/before-$1 any more"
}

# ---- a file takes another one's place ---------------------------------------

# like copies all that the shell's tools can copy beside a file's bytes.
like() { cp -p --preserve=all "$1" "$2" 2>/dev/null || cp -p "$1" "$2"; }

# beside makes the new file: with owner, mode, label and more of the old one.
beside() {
	note pending "$path"
	pending=$run/pending
	made=$(mktemp "${path%/*}/.certrot-$id-XXXXXX" 2>&1) || fail failed "make the new file beside it: $made"
	temp=$made
	try "give the new file what the old one has" like "$path" "$temp"
}

# dress gives the new file what is still missing, and looks whether it has all:
# MODE UID GID LABEL. Then state is that of the new file.
dress() {
	facts "$temp"
	[ "$uid:$gid" = "$2:$3" ] || try "give the new file to user $2, group $3" chown "$2:$3" "$temp"
	facts "$temp"
	[ "$mode" = "$1" ] || try "give the new file mode $1" chmod "$1" "$temp"
	labelled "$temp"
	[ "$label" = "$4" ] || [ "$4" = '?' ] || try "give the new file the label $4" chcon "$4" "$temp"
	try "sync the new file" sync "$temp"
	state "$temp"
	[ "$4" = '?' ] && label='?'
	[ "$kind $mode $uid $gid $label" = "regular $1 $2 $3 $4" ] ||
		fail failed "the new file would have mode $mode, owner $uid:$gid and label $label in place of $1, $2:$3 and $4"
}

# hold remembers what state found, for swap.
hold() { held="$kind $links $sha $size $mode $uid $gid $label"; }

# swap gives the new file the old one's name, if that is what it was.
swap() {
	result=$(show)
	state "$path"
	[ "$kind" = regular ] && [ "$kind $links $sha $size $mode $uid $gid $label" = "$held" ] ||
		changed "somebody else changed it just now"
	if ! message=$(mv -f "$temp" "$path" 2>&1); then
		[ ! -f "$temp" ] || fail failed "give the new file its name: $message"
		fail unknown "give the new file its name: $message"
	fi
	temp='' fresh=''
	message=$(sync "${path%/*}/" 2>&1) || fail unknown "the new file is there, but may not be on the disk: $message"
}

# slice prints some bytes of a file: FILE OFFSET LENGTH
slice() { tail -c "+$(($2 + 1))" "$1" | head -c "$3"; }

splice() {
	head -c "$offset" "$source" >"$temp" &&
		head -c "$bytes" >>"$temp" &&
		tail -c "+$((offset + length + 1))" "$source" >>"$temp"
}

# sliced is the sha256 of a slice.
sliced() {
	part=$(slice "$@" | sha256sum)
	printf '%s\n' "${part%% *}"
}

# ---- the operations ---------------------------------------------------------

# look: PATH...
look() {
	for path; do
		state "$path"
		show
	done
	finish same
}

# replace: FOLDER ID PATH BEFORE OFFSET LENGTH BYTES INSERT. Stdin is BYTES bytes
# with the sha256 INSERT; the file's has to be BEFORE.
replace() {
	folder=$1 id=$2 path=$3 before=$4 offset=$5 length=$6 bytes=$7 insert=$8
	run=$folder/$id
	state "$path"
	plain
	[ "$sha" = "$before" ] || changed "its content is not what was shown"
	[ $((offset + length)) -le "$size" ] || fail refused "it has $size bytes, and $length at $offset are to be replaced"
	if [ "$length" -eq "$bytes" ] && [ "$(sliced "$path" "$offset" "$length")" = "$insert" ]; then
		show
		finish same
	fi
	hold
	expected=$((size - length + bytes))
	w_size=$size w_mode=$mode w_uid=$uid w_gid=$gid w_label=$label

	make "$folder"
	lock
	make "$run"
	sweep
	entryof "$path"
	first=$before after=''
	facts "$run/$entry"
	if [ "$kind" != absent ]; then
		load "$run/$entry"
		case " $e_sha $e_after " in
		*" $before "*) ;;
		*)
			state "$path"
			changed "somebody else changed it after this run did, so this run can't put back what it was: change it in a new run"
			;;
		esac
		first=$e_sha w_size=$e_size after=$e_after
	fi

	made=$(mktemp "$run/tmp-XXXXXX" 2>&1) || fail failed "make a file in $run: $made"
	draft=$made
	try "copy it to $run" copy "$path" "$draft"
	if ! sum "$draft" || [ "$sha" != "$before" ]; then
		state "$path"
		[ "$kind $sha" = "regular $before" ] || changed "somebody else changed it just now"
		fail failed "copy it to $run: the copy differs"
	fi
	source=$draft
	if [ "$first" = "$before" ]; then
		source=$run/before-$before
		settle "$draft" "$source"
		draft=''
	else
		backed "$first"
	fi

	beside
	try "write the new file" splice
	facts "$temp"
	[ "$size" -eq "$expected" ] && [ "$(sliced "$temp" "$offset" "$bytes")" = "$insert" ] ||
		fail failed "what is to be inserted did not arrive whole"
	dress "$w_mode" "$w_uid" "$w_gid" "$w_label"

	[ -x "$run/undo" ] || note undo "$text" 700
	if [ -z "$after" ]; then
		e_mode=$w_mode e_uid=$w_uid e_gid=$w_gid e_label=$w_label
	fi
	forfeit "$before"
	advance
	[ -n "$after" ] || fresh=$run/$entry e_after='' e_order=''
	append "$sha"
	note "$entry" "certrot-file 1${nl}path $path${nl}before $first $w_size $e_mode $e_uid $e_gid $e_label${nl}after $e_after${nl}order $e_order${nl}end"
	swap
	printf '%s\n' "$result"
	finish changed
}

# aside: FOLDER ID PATH BEFORE. Takes a file of that sha256 away from its name; its bytes
# are in the run's folder, on the disk, before that.
aside() {
	folder=$1 id=$2 path=$3 before=$4
	run=$folder/$id
	gone "$path" "$before"
	plain
	[ "$sha" = "$before" ] || changed "its content is not what was shown"
	hold
	w_size=$size w_mode=$mode w_uid=$uid w_gid=$gid w_label=$label

	make "$folder"
	lock
	make "$run"
	sweep
	entryof "$path"
	first="$before $w_size $w_mode $w_uid $w_gid $w_label" after=''
	facts "$run/$entry"
	if [ "$kind" != absent ]; then
		load "$run/$entry"
		first="$e_sha $e_size $e_mode $e_uid $e_gid $e_label" after=$e_after
		[ "$e_sha" = "$before" ] || backed "$e_sha"
	fi
	made=$(mktemp "$run/tmp-XXXXXX" 2>&1) || fail failed "make a file in $run: $made"
	draft=$made
	try "copy it to $run" copy "$path" "$draft"
	if ! sum "$draft" || [ "$sha" != "$before" ]; then
		state "$path"
		[ "$kind $sha" = "regular $before" ] || changed "somebody else changed it just now"
		fail failed "copy it to $run: the copy differs"
	fi
	settle "$draft" "$run/before-$before"
	draft=''
	[ -x "$run/undo" ] || note undo "$text" 700
	forfeit "$before"
	advance
	[ -n "$after" ] || fresh=$run/$entry e_after='' e_order=''
	append -
	note "$entry" "certrot-file 1${nl}path $path${nl}before $first${nl}after $e_after${nl}order $e_order${nl}end"
	state "$path"
	[ "$kind" = regular ] && [ "$kind $links $sha $size $mode $uid $gid $label" = "$held" ] ||
		changed "somebody else changed it just now"
	unname
}

# gone ends well if a path has nothing, and this run took it away; with BEFORE empty, the
# path of a link. Else state is that of the path.
gone() {
	state "$1"
	[ "$kind" = absent ] || return 0
	entryof "$1"
	[ -n "$2" ] || entry=link-${entry#file-}
	facts "$run/$entry"
	[ "$kind" = regular ] || {
		kind=absent
		changed "it is gone"
	}
	kind=absent
	show
	finish same
}

# unname takes the name away, for good.
unname() {
	if ! message=$(rm -f "$path" 2>&1); then
		facts "$path"
		[ "$kind" = absent ] || fail failed "take $path away: ${message:-rm says nothing more}"
		fail unknown "take $path away: ${message:-rm says nothing more}"
	fi
	fresh=''
	message=$(sync "${path%/*}/" 2>&1) || fail unknown "it was taken away, but that may not be on the disk: $message"
	kind=absent
	show
	finish changed
}

# leads sets target to what a symbolic link says.
leads() {
	target=$(readlink "$1") || fail failed "readlink $1 says nothing"
	case $target in
	'' | *"$nl"*) fail refused "what the link $1 says is not to be written in a line" ;;
	esac
}

# unlink: FOLDER ID PATH TARGET. Takes a symbolic link away that says TARGET. What it
# leads to stays.
unlink() {
	folder=$1 id=$2 path=$3
	run=$folder/$id
	gone "$path" ''
	[ "$kind" = 'link' ] || changed "it is no symbolic link"
	leads "$path"
	[ "$target" = "$4" ] || changed "it leads to $target"
	make "$folder"
	lock
	make "$run"
	sweep
	entryof "$path"
	entry=link-${entry#file-}
	[ -x "$run/undo" ] || note undo "$text" 700
	forfeit "$target"
	advance
	facts "$run/$entry"
	l_target=$target
	if [ "$kind" = absent ]; then
		fresh=$run/$entry
	else
		linked "$run/$entry"
	fi
	note "$entry" "certrot-link 1${nl}path $path${nl}target $l_target${nl}order $next${nl}end"
	leads "$path"
	[ "$target" = "$4" ] || changed "somebody else changed it just now"
	unname
}

# linked reads the entry of a link: l_path and l_target, and l_order, the number of the
# change.
linked() {
	l_path='' l_target='' l_order='' head='' whole='' odd=''
	while IFS= read -r line; do
		case $line in
		'certrot-link 1') head=1 ;;
		'path /'*) l_path=${line#path } ;;
		'target '*) l_target=${line#target } ;;
		'order '*) l_order=${line#order } ;;
		end) whole=1 ;;
		*) odd=1 ;;
		esac
	done <"$1"
	case $l_order in
	*[!0-9]* | 0?*) odd=1 ;;
	esac
	[ "$head$whole$odd" = 11 ] && [ -n "$l_path" ] && [ -n "$l_target" ] || fail failed "$1 can't be read as an entry: look at it"
}

# relink: FOLDER ID PATH OVER. Puts a link back where nothing is, or a link that says
# OVER.
relink() {
	path=$3 over=$4
	entered "$1" "$2"
	lock
	sweep
	entryof "$path"
	entry=link-${entry#file-}
	noted "did not take it away"
	linked "$noted"
	[ "$l_path" = "$path" ] || fail failed "$noted is about $l_path"
	state "$path"
	case $kind in
	absent)
		claims
		belongs
		;;
	'link')
		leads "$path"
		[ "$target" != "$l_target" ] || already
		claims
		belongs
		[ "$target" = "$over" ] || changed "it leads to $target now"
		[ ! -d "$path" ] || fail refused "it leads to a directory"
		;;
	*) changed "something else has its name now" ;;
	esac
	note pending "$path"
	pending=$run/pending
	made=$(mktemp "${path%/*}/.certrot-$id-XXXXXX" 2>&1) || fail failed "make the new link beside it: $made"
	temp=$made
	try "make the new link" ln -sf "$l_target" "$temp"
	message=$(mv -f "$temp" "$path" 2>&1) || fail failed "give the new link its name: $message"
	temp=''
	message=$(sync "${path%/*}/" 2>&1) || fail unknown "the new link is there, but may not be on the disk: $message"
	kind='link'
	result=$(show)
	putback
}

# entered goes to the folder of a run that is to be there: FOLDER ID
entered() {
	folder=$1 id=$2 run=$1/$2
	own "$folder" && own "$run" || fail norun "there is no run $id in $folder on this node"
}

# restore: FOLDER ID PATH [OVER]. Where the run took the file away, and another one has its
# name by now, that is OVER, of that sha256.
restore() {
	path=$3 over=${4-}
	entered "$1" "$2"
	lock
	sweep
	entryof "$path"
	noted "did not change it, or a later run did"
	load "$noted"
	[ "$e_path" = "$path" ] || fail failed "$noted is about $e_path"
	state "$path"
	[ "$kind" != regular ] || [ "$sha" != "$e_sha" ] || already
	claims
	belongs
	taken=''
	case " $e_after " in
	*' - '*) taken=1 ;;
	esac
	if [ "$kind" = absent ] && [ -n "$taken" ]; then
		backed "$e_sha"
		anew
		return
	fi
	plain
	case " $e_after ${taken:+$over} " in
	*" $sha "*) ;;
	*) changed "it is neither what this run made of it nor what it was before; that is kept in $run/before-$e_sha" ;;
	esac
	hold
	backed "$e_sha"
	beside
	try "write the new file" copy "$run/before-$e_sha" "$temp"
	dress "$e_mode" "$e_uid" "$e_gid" "$e_label"
	[ "$sha" = "$e_sha" ] || fail failed "write the new file: it differs from $run/before-$e_sha"
	swap
	putback
}

# noted sets noted to the file that has the entry of a path, be it put back or not. It
# fails where there is none: what the run did not do.
noted() {
	for noted in "$run/$entry" "$run/back-$entry"; do
		facts "$noted"
		[ "$kind" = absent ] || return 0
	done
	fail norun "run $id $1"
}

# claims fails where the run put it back before: what is there came after that.
claims() {
	[ "$noted" = "$run/$entry" ] || fail norun "run $id put it back already: what is there now is not that run's"
}

# anew puts a file back that is not there.
anew() {
	note pending "$path"
	pending=$run/pending
	made=$(mktemp "${path%/*}/.certrot-$id-XXXXXX" 2>&1) || fail failed "make the new file beside it: $made"
	temp=$made
	try "write the new file" copy "$run/before-$e_sha" "$temp"
	dress "$e_mode" "$e_uid" "$e_gid" "$e_label"
	[ "$sha" = "$e_sha" ] || fail failed "write the new file: it differs from $run/before-$e_sha"
	result=$(show)
	# A link, other than a rename, takes nobody else's place.
	message=$(ln "$temp" "$path" 2>&1) || {
		state "$path"
		[ "$kind" = absent ] || changed "somebody else made it just now"
		fail failed "give the new file its name: $message"
	}
	rm -f "$temp" || fail unknown "the new file is there, and has another name beside it: $temp"
	temp=''
	message=$(sync "${path%/*}/" 2>&1) || fail unknown "the new file is there, but may not be on the disk: $message"
	putback
}

# entered_yet tells whether what is at entry is one of the run's: not one that was put back
# where something else is there since, or that the run made once more.
entered_yet() {
	facts "$entry"
	[ "$kind" = regular ] || return 1
	case $entry in
	*/back-*) [ ! -f "$run/${entry##*/back-}" ] && (asbefore "$entry") >/dev/null ;;
	esac
}

# later prints which later run a path belongs to, or - where there is none, or where that
# can't be told. It keeps what its reader knows.
later() {
	case $entry in
	*/back-*)
		printf 'later -\n'
		return
		;;
	esac
	answer=$(
		path=$1 entry=${entry##*/}
		state "$path"
		heir
		printf 'later %s\n' "${owner:--}"
	) || answer='later -'
	printf '%s\n' "${answer##*"$nl"}"
}

# entries: FOLDER ID
entries() {
	entered "$@"
	for entry in "$run"/file-* "$run"/back-file-*; do
		entered_yet || continue
		load "$entry"
		printf 'entry %s %s %s %s %s %s\n' "$e_sha" "$e_size" "$e_mode" "$e_uid" "$e_gid" "$e_label"
		printf 'path %s\nafter %s\n' "$e_path" "$e_after"
		later "$e_path"
	done
	for entry in "$run"/link-* "$run"/back-link-*; do
		entered_yet || continue
		linked "$entry"
		printf 'entry link\npath %s\nafter %s\n' "$l_path" "$l_target"
		later "$l_path"
	done
	finish same
}

# keeper sets h_by to who holds this node, and age to the seconds since they said so; h_by
# is empty where nobody does, since a restart of the node, or for SECONDS: FOLDER SECONDS
keeper() {
	h_by='' h_since='' h_boot=''
	now=$(date +%s)
	boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) || boot='?'
	facts "$1/.held"
	[ "$kind" = regular ] || return 0
	{
		IFS= read -r h_by
		IFS= read -r h_since
		IFS= read -r h_boot
	} <"$1/.held" || :
	case $h_since in
	'' | *[!0-9]*) h_since=0 ;;
	esac
	age=$((now - h_since))
	[ "$h_boot" = "$boot" ] && [ "${age#-}" -lt "$2" ] || h_by=''
}

# who: FOLDER SECONDS. Who holds this node, if anybody does.
who() {
	own "$1" || finish same
	keeper "$@"
	[ -z "$h_by" ] || printf 'held %s %s\n' "$age" "$h_by"
	finish same
}

# keep: FOLDER HOLDER OVER SECONDS. Keeps others off this node until HOLDER lets go, the
# node is restarted, or SECONDS have gone by. OVER is a holder that is known to be gone.
keep() {
	folder=$1 holder=$2 over=$3
	make "$folder"
	lock
	run=''
	sweep
	keeper "$folder" "$4"
	case $h_by in
	'' | "$holder" | "$over") ;;
	*)
		printf 'held %s %s\n' "$age" "$h_by"
		fail busy "$h_by is at work on this node"
		;;
	esac
	made=$(mktemp "$folder/.held-XXXXXX" 2>&1) || fail failed "make a file in $folder: $made"
	scrap=$made
	try "write $folder/.held" spill "$holder$nl$now$nl$boot" "$scrap"
	try "rename $scrap to $folder/.held" mv -f "$scrap" "$folder/.held"
	scrap=''
	finish changed
}

# release: FOLDER HOLDER. What somebody else holds stays held.
release() {
	folder=$1 h_by=''
	own "$folder" || finish same
	lock
	facts "$folder/.held"
	[ "$kind" = regular ] || finish same
	IFS= read -r h_by <"$folder/.held" || :
	[ "$h_by" = "$2" ] || finish same
	try "remove $folder/.held" rm -f "$folder/.held"
	finish changed
}

# asbefore tells whether what an entry is about is as it was before the run; where that
# can't be told, it is not.
asbefore() {
	entry=${1##*/}
	entry=${entry#back-}
	had=$(origin "$1") || exit 1
	case $entry in
	link-*)
		linked "$1"
		target=$(readlink "$l_path") && [ "$target" = "$had" ]
		;;
	*)
		load "$1"
		state "$e_path"
		[ "$kind $sha" = "regular $had" ]
		;;
	esac
}

# runs: FOLDER
runs() {
	own "$1" || finish same
	for run in "$1"/*; do
		valid "${run##*/}" || continue
		facts "$run"
		[ "$kind" = directory ] || continue
		# The folder itself changes when something is put back, too.
		count=0 began=-
		for file in "$run"/*; do
			facts "$file"
			[ "$kind" = regular ] || continue
			stamp=$(stat -c %Y "$file" 2>&1) || fail failed "look at $file: $stamp"
			[ "$began" != - ] && [ "$stamp" -ge "$began" ] || began=$stamp
		done
		for entry in "$run"/file-* "$run"/link-*; do
			[ ! -f "$entry" ] || (asbefore "$entry") >/dev/null || count=$((count + 1))
		done
		printf 'run %s %s %s\n' "${run##*/}" "$began" "$count"
	done
	finish same
}

# mine tells whether a name is one that a run gives.
mine() {
	case $1 in
	undo | pending) return ;;
	tmp-??????) return ;;
	restarted-*.service) return ;;
	file-* | back-file-*) set -- "${1#*file-}" ;;
	link-* | back-link-*) set -- "${1#*link-}" ;;
	before-*) set -- "${1#before-}" ;;
	*) return 1 ;;
	esac
	[ ${#1} -eq 64 ] || return 1
	case $1 in
	*[!0-9a-f]*) return 1 ;;
	esac
}

# beneath prints a run that made the same of a path as this one, and before it: without
# this one's entry, what is there would be taken for that one's.
beneath() {
	changes=-
	case $entry in
	link-*) ;;
	*)
		load "$run/$entry"
		changes=$e_after
		;;
	esac
	for made in $changes; do
		answer=$(did "$run/$entry" "$made") || continue
		# shellcheck disable=SC2086 # numbers
		set -- $answer
		newest=$1 written=$2 passed=''
		for other in "$folder"/*; do
			valid "${other##*/}" && [ -f "$other/$entry" ] || continue
			if [ "$other" = "$run" ]; then
				passed=1
				continue
			fi
			answer=$(did "$other/$entry" "$made") || continue
			# shellcheck disable=SC2086 # numbers
			set -- $answer
			newer "$1" "$2" || printf '%s\n' "${other##*/}"
		done
	done
}

# did prints the number of a change of an entry, and when that was written. It returns 1 if
# there was no such change.
did() {
	stamp=$(stat -c %Y "$1") || return 1
	case $entry in
	link-*)
		linked "$1"
		number=${l_order:-0}
		;;
	*)
		load "$1"
		case " $e_after " in
		*" $2 "*) numbered "$2" ;;
		*) return 1 ;;
		esac
		;;
	esac
	printf '%s %s\n' "$number" "$stamp"
}

# remove: FOLDER ID
remove() {
	folder=$1 id=$2 run=$1/$2
	own "$folder" && own "$run" || finish same
	lock
	for file in "$run"/* "$run"/.[!.]* "$run"/..?*; do
		facts "$file"
		case $kind in
		absent) continue ;;
		regular) mine "${file##*/}" && continue ;;
		esac
		fail refused "$file is not from certrot: look at it, and move it away"
	done
	for file in "$run"/file-* "$run"/link-*; do
		[ -f "$file" ] || continue
		entry=${file##*/}
		earlier=$(beneath) || continue # what can't be read claims nothing
		[ -z "$earlier" ] || fail refused "run ${earlier%%"$nl"*} made the same of a file before run $id did, and would put back what is there as its own: remove run ${earlier%%"$nl"*} first"
	done
	sweep
	# No entry is ever without its bytes.
	try "remove what is in $run" rm -f "$run"/file-* "$run"/link-* "$run"/back-*
	try "sync $run" sync "$run"
	try "remove what is in $run" rm -f "$run"/before-* "$run"/restarted-* "$run/undo"
	try "remove the folder" rmdir "$run"
	try "sync $folder" sync "$folder"
	finish changed
}

# unit: NAME
unit() {
	has systemctl || fail failed "there is no systemctl on this node"
	shown=$(systemctl show -p Id,LoadState,ActiveState,SubState,Result,MainPID,ActiveEnterTimestamp,NRestarts,NeedDaemonReload -- "$1" 2>&1) ||
		fail failed "systemctl show $1: $shown"
	now=$(date +%s.%N)
	case $now in
	*[!0-9.]*) now=$(date +%s) ;; # busybox knows no nanoseconds
	esac
	printf 'now %s\n%s\n' "$now" "$shown"
	finish same
}

# restart: FOLDER ID UNIT. A timer does it, seconds later: what runs this may
# hang on that unit, and is to see how this ended.
restart() {
	folder=$1 id=$2 run=$1/$2 name=$3
	for tool in systemctl systemd-run; do
		has "$tool" || fail failed "there is no $tool on this node"
	done
	loaded=$(systemctl show -p LoadState -- "$name" 2>&1) || fail failed "systemctl show $name: $loaded"
	[ "$loaded" = LoadState=loaded ] || fail refused "there is nothing to restart: $loaded"
	collect=''
	case $(systemd-run --help 2>&1) in
	*--collect*) collect=--collect ;; # if it fails, it does not stay around either
	esac
	(
		trap tidy EXIT
		own "$folder" || exit
		lock
		own "$run" || run=''
		sweep
		[ -z "$run" ] || note "restarted-$name" ''
	) >/dev/null # that undo can tell of it is worth less than the restart
	# Left to itself, a timer may be a minute late.
	try systemd-run systemd-run ${collect:+"$collect"} --unit="certrot-$id-$(date +%s)-$$" \
		--description="certrot $id: restart $name" --on-active=3 --timer-property=AccuracySec=100ms \
		systemctl restart "$name"
	finish changed
}

# undo puts all files of the run back in whose folder this text lies.
undo() {
	here=.
	case $0 in
	*/*) here=${0%/*} ;;
	esac
	here=$(cd -- "$here/" && pwd -P) || exit 1
	id=${here##*/} bad=0
	if ! valid "$id"; then
		printf '%s\n' "$here is no folder of a run of certrot" >&2
		exit 1
	fi
	for entry in "$here"/file-*; do
		[ -f "$entry" ] || continue
		answer=$(alone follows "$entry")
		case $answer in
		*"done same") ;;
		*)
			answer=${answer##*"$nl"}
			answer=${answer#fail }
			printf '%s\n' "NOTHING was put back: ${answer#* }" "What knows how: certrot undo $id --from-nodes --nodes NODE" >&2
			exit 1
			;;
		esac
	done
	for entry in "$here"/link-* "$here"/file-* "$here"/back-*; do
		[ -f "$entry" ] || continue
		case $entry in
		*/back-*) [ ! -f "$here/${entry##*/back-}" ] || continue ;;
		esac
		case $entry in
		*/link-* | */back-link-*) answer=$(alone backlink "$entry") ;;
		*) answer=$(alone back "$entry") ;;
		esac
		name=$entry
		case $answer in
		'path /'*)
			name=${answer%%"$nl"*}
			name=${name#path }
			;;
		esac
		case $answer in
		*"${nl}done changed") printf '%s\n' "$name: put back" ;;
		*"${nl}done same") printf '%s\n' "$name: already as it was" ;;
		*)
			bad=1
			answer=${answer##*"$nl"}
			answer=${answer#fail }
			printf '%s\n' "$name: NOT put back: ${answer#* }" >&2
			;;
		esac
	done
	told=''
	for file in "$here"/restarted-*.service; do
		[ -f "$file" ] || continue
		told=1
		printf '%s\n' "Nothing was restarted. Run $id had restarted a unit; now: systemctl restart ${file#"$here/restarted-"}"
	done
	[ -n "$told" ] || printf '%s\n' "Nothing was restarted. What read these files may need: systemctl restart UNIT"
	exit "$bad"
}

# follows fails where the run took a file away and somebody made another one since, as a
# kubelet does that joined anew: the others belong to that one by now.
follows() {
	load "$1"
	case " $e_after " in
	*' - '*) ;;
	*) finish same ;;
	esac
	state "$e_path"
	case "$kind $e_sha $e_after " in
	absent*) finish same ;;
	regular*" $sha "*) finish same ;;
	esac
	fail changed "$e_path was made anew after this run took it away; what it was is in $here/before-$e_sha"
}

back() {
	load "$1"
	printf 'path %s\n' "$e_path"
	restore "${here%/*}" "$id" "$e_path"
}

backlink() {
	linked "$1"
	printf 'path %s\n' "$l_path"
	relink "${here%/*}" "$id" "$l_path" ''
}

case $0 in
certrot)
	text=$1
	shift
	echo "certrot-host 1"
	case $1 in
	look | replace | aside | unlink | restore | relink | entries | who | keep | release | runs | remove | unit | restart) alone "$@" ;;
	esac
	echo end
	exit 0
	;;
*) undo ;;
esac
CERTROT_HOST
}

# ---- how it ends --------------------------------------------------------------

# readable shows what others wrote, without what a terminal would obey.
readable() { printf '%s\n' "$1" | tr -c '\n -~' '?'; }

refuse() {
	readable "refused, nothing was changed: $1" >&2
	[ -z "${2-}" ] || readable "  next: $2" >&2
	exit 5
}

stop() {
	readable "error: $1" >&2
	readable "  next: look at it, and run the same again; to go back: sh $me undo" >&2
	exit 4
}

usage() {
	printf 'usage: sh %s [--dry-run] [--yes] [--accept-risk=unverified-server]\n       sh %s undo [--yes] [--accept-risk=breaks-trust]\n' "$me" "$me" >&2
	exit 2
}

has() { command -v "$1" >/dev/null 2>&1; }

sha256() { sum=$(sha256sum) && printf '%s\n' "${sum%% *}"; }

# ---- certificates ---------------------------------------------------------------

# bodies prints each certificate in PEM text as one line of base64.
bodies() {
	awk '
	/^-----BEGIN CERTIFICATE-----$/ { if (inside) exit 1; inside = 1; body = ""; next }
	/^-----END CERTIFICATE-----$/ { if (!inside || body == "") exit 1; inside = 0; print body; next }
	/-----(BEGIN|END)/ { exit 1 }
	inside { if ($0 !~ /^[A-Za-z0-9+\/=]+$/) exit 1; body = body $0 }
	END { if (inside) exit 1 }'
}

# der is how awk reads DER, in x as hex: byte reads one, part one element, its tag, and
# where its content and what follows begin.
der='
	BEGIN {
		digits = "0123456789abcdef"
		for (i = 32; i < 127; i++) ascii = ascii sprintf("%c", i)
	}
	function byte(p) { return (index(digits, substr(x, p, 1)) - 1) * 16 + index(digits, substr(x, p + 1, 1)) - 1 }
	function part(p,   n, l) {
		tag = substr(x, p, 2); l = byte(p + 2); content = p + 4
		if (l >= 128) {
			n = l - 128; l = 0
			if (n > 3) { failed = 1; exit 1 }
			while (n-- > 0) { l = l * 256 + byte(content); content += 2 }
		}
		after = content + 2 * l
		if (tag == "" || after > length(x) + 1) { failed = 1; exit 1 }
	}'

# dates prints, of a certificate in one line of base64, until when it is valid
# (YYYYMMDDHHMMSS, and as people write it) and the common name of its subject.
dates() {
	base64 -d 2>/dev/null | od -An -v -tx1 | tr -d ' \n' | awk "$der"'
	function text(from, to,   p, s) {
		for (p = from; p < to; p += 2) s = s substr(ascii, byte(p) - 31, byte(p) >= 32 && byte(p) < 127)
		return s
	}
	{ x = x $0 }
	END {
		if (failed) exit 1
		part(1); if (tag != "30") exit 1
		part(content); if (tag != "30") exit 1
		part(content); if (tag == "a0") part(after)
		part(after); part(after) # after the serial: the algorithm, the issuer
		part(after); if (tag != "30") exit 1
		subject = after
		part(content); part(after)
		until = text(content, after)
		if (tag == "17") until = (substr(until, 1, 2) < "50" ? "20" : "19") until
		if (until !~ /^[0-9]+Z$/ || length(until) != 15) exit 1
		part(subject); end = after; set = content
		while (set < end) {
			part(set); following = after
			part(content); part(content)
			if (substr(x, content, after - content) == "550403") { part(after); name = text(content, after) }
			set = following
		}
		split("1 5 7 9 11 13", at); said = substr(until, 1, 4)
		for (i = 2; i <= 6; i++) said = said substr("--T::", i - 1, 1) substr(until, at[i], 2)
		print substr(until, 1, 14) " " said "Z " name
	}'
}

# named tells whether the first certificate in PEM in a text has this name of a host among
# its subjectAltNames, as Go reads them, and so the kubelet: it takes no common name, and '*'
# for a whole first label alone. It compares bytes: a name may read like others: TEXT NAME
named() {
	printf '%s\n' "$1" | awk '
	/^-----BEGIN CERTIFICATE-----$/ { on = !seen++; next }
	/^-----END CERTIFICATE-----$/ { on = 0 }
	on' | base64 -d 2>/dev/null | od -An -v -tx1 | awk -v host="$2" "$der"'
	function lower(from, to,   p, b, s) {
		for (p = from; p < to; p += 2) {
			b = byte(p)
			s = s sprintf("%02x", b >= 65 && b <= 90 ? b + 32 : b)
		}
		return s
	}
	function hex(s,   h, n) {
		for (n = 1; n <= length(s); n++) h = h sprintf("%02x", index(ascii, substr(s, n, 1)) + 31)
		return h
	}
	{ gsub(/ /, ""); x = x $0 }
	END {
		if (failed || x == "") exit 1
		host = tolower(host)
		want = hex(host); wild = index(host, ".") ? hex("*" substr(host, index(host, "."))) : want
		part(1); part(content); end = after
		part(content); if (tag == "a0") part(after)
		for (i = 0; i < 5; i++) part(after) # behind the serial: algorithm, issuer, validity, subject, key
		while (after < end) {
			part(after)
			if (tag != "a3") continue
			part(content); one = content; stop = after
			while (one < stop) {
				part(one); one = after
				part(content)
				if (substr(x, content, after - content) != "551d11") continue
				lists++
				part(after); if (tag == "01") part(after)
				part(content); last = after
				while (content < last) {
					part(content)
					if (tag == "82" && ((name = lower(content, after)) == want || name == wild)) found = 1
					content = after
				}
			}
			after = stop
		}
		exit !(found && lists == 1)
	}'
}

# list shows certificates, a line of base64 each, behind a word.
list() {
	while read -r body; do
		about=$(printf '%s\n' "$body" | dates) || about='? ? ?'
		about=${about#* }
		printf '%s sha256 %s until %s: %s\n' "$1" "$(printf '%s\n' "$body" | base64 -d | sha256)" "${about%% *}" "${about#* }"
	done
}

# ---- the files ------------------------------------------------------------------

# shape finds the CA in a kubeconfig of a known shape: those that machine-config-server
# and -daemon, the kubelet, the installer and kubeadm write. It prints "ca OFFSET LENGTH
# SERVER", or "no" and why.
shape() {
	awk '
	function no(why) { print "no line " NR ": " why; failed = 1; exit }
	function once(what) { if (seen[what]++) no("there is more than one " what) }
	function value() { s = $0; sub(/^[ -]*[A-Za-z-]+: /, "", s); return s }
	function name() {
		s = value()
		if (s !~ /^[A-Za-z0-9._\/:@-]*[A-Za-z][A-Za-z0-9._\/:@-]*$/ || s ~ /^[-:@]|:$|^(null|Null|NULL|true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|y|Y|n|N)$/) no("the name is written in a way that this script does not know")
		return s
	}
	{ at = offset; offset += length($0) + 1 }
	/^(apiVersion: v1|kind: Config|preferences: \{\})$/ { once($1); in_ = ""; next }
	/^(clusters|contexts|users):$/ { once($1); in_ = $1; inner = 0; next }
	/^current-context: / { once("current-context"); current = name(); in_ = ""; next }
	in_ == "clusters:" && /^- cluster:$/ { once("cluster"); inner = 1; next }
	in_ == "clusters:" && inner && /^    certificate-authority-data: / {
		once("CA"); key = "    certificate-authority-data: "
		ca = at + length(key); size = length($0) - length(key)
		if (value() !~ /^[A-Za-z0-9+\/]+=?=?$/ || size % 4) no("the CA is not base64 on one line")
		next
	}
	in_ == "clusters:" && inner && /^    server: / {
		once("server"); server = value()
		if (server !~ /^https:\/\/([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]+)?\/?$/) no("the server is not https://HOST:PORT")
		next
	}
	in_ == "clusters:" && inner && /^  name: / { cluster = name(); inner = 0; next }
	in_ == "contexts:" && /^- context:$/ { once("context"); inner = 1; next }
	in_ == "contexts:" && inner && /^    cluster: / { once("cluster of a context"); used = name(); next }
	in_ == "contexts:" && inner && /^    namespace: / { once("namespace"); name(); next }
	in_ == "contexts:" && inner && /^    user: / { once("user of a context"); by = name(); next }
	in_ == "contexts:" && inner && /^  name: / { context = name(); inner = 0; next }
	in_ == "users:" && /^- name: / { once("user"); user = name(); inner = 1; next }
	in_ == "users:" && inner == 1 && /^  user:$/ { inner = 2; next }
	in_ == "users:" && inner == 2 && /^    (client-certificate|client-key|client-certificate-data|client-key-data|token|tokenFile): / {
		once($1)
		if (value() !~ /^([A-Za-z0-9+\/._-]+=?=?|"[A-Za-z0-9._-]+")$/) no("the value of " $1 " is written in a way that this script does not know")
		next
	}
	{ word = $1 == "-" ? $2 : $1; if (word !~ /^[A-Za-z-]+:$/) word = "something"; no(word " is not where the known shapes have it, or they have it not") }
	END {
		if (failed) exit
		NR = "end"
		if (!ca || server == "" || cluster == "" || context == "" || current == "" || user == "" || inner == 1) no("a part is missing that the known shapes have")
		if (current != context) no("the current context is not the one that is there")
		if (used != cluster) no("the current context leads to another cluster")
		if (by != user) no("the current context is that of another user")
		print "ca " ca " " size " " server
	}' <"$1"
}

# known sets offset, length and server of a kubeconfig, and writes the certificates
# in it to TO; it returns 1, and sets why, where it is of no known shape: FILE TO
known() {
	why=''
	size=$(wc -c <"$1") || { why="it can't be read"; return 1; }
	[ "$size" -le 1048576 ] || { why="it has $size bytes"; return 1; }
	[ "$(tr -d '\n -~' <"$1" | wc -c)" -eq 0 ] || { why="it has other characters than those of ASCII, or tabs"; return 1; }
	found=$(shape "$1") || { why="awk can't read it"; return 1; }
	case $found in
	'ca '*) ;;
	*)
		why=${found#no }
		return 1
		;;
	esac
	# shellcheck disable=SC2086 # numbers and an address
	set -- "$1" "$2" $found
	offset=$4 length=$5 server=$6
	tail -c "+$((offset + 1))" "$1" | head -c "$length" >"$scratch/was" && [ "$(wc -c <"$scratch/was")" -eq "$length" ] || { why="its CA can't be copied to $scratch"; return 1; }
	base64 -d <"$scratch/was" >"$scratch/pem" 2>/dev/null || { why="its CA is not base64"; return 1; }
	[ "$(tr -d '\n -~' <"$scratch/pem" | wc -c)" -eq 0 ] || { why="its CA has other characters than PEM has"; return 1; }
	bodies <"$scratch/pem" >"$2" && [ -s "$2" ] || { why="its CA can't be read as certificates in PEM"; return 1; }
}

# trusted writes the CAs that a file is to have: what is wanted, verbatim, then what it
# has beside that and has not ended: OLD TO
trusted() {
	ca >"$2" && cp "$scratch/wanted" "$scratch/held" || return 1
	now=$(date -u +%Y%m%d%H%M%S)
	while read -r body; do
		! grep -qxF -e "$body" "$scratch/held" || continue
		until=$(printf '%s\n' "$body" | dates) || return 1
		[ "${until%% *}" -gt "$now" ] || continue
		printf '%s\n' "$body" >>"$scratch/held" || return 1
		{ echo '-----BEGIN CERTIFICATE-----' && printf '%s\n' "$body" | fold -w 64 && echo '-----END CERTIFICATE-----'; } >>"$2" || return 1
	done <"$1"
}

# ---- what is checked before -------------------------------------------------------

ended() {
	[ -z "$holder" ] || host release "$folder" "$holder" || readable "warning: $folder/.held is still there: $why" >&2
	rm -rf "$scratch"
}

# prepare makes a folder for what is unfinished; no key and no token gets there.
prepare() {
	[ "$(id -u)" = 0 ] || refuse "it has to run as root" "sudo sh $me"
	for tool in awk base64 cat cp date fold grep head id mktemp od rm sha256sum sleep stat systemctl systemd-run tail tr uname wc; do
		has "$tool" || refuse "there is no $tool on this machine"
	done
	scratch=$(mktemp -d) || refuse "no folder for temporary files could be made"
	trap ended EXIT
	trap 'exit 4' HUP INT TERM
	head -c 8388608 </dev/zero >"$scratch/room" && rm "$scratch/room" || refuse "there are no 8 MiB for temporary files in $scratch" "make room, or name a folder that has it: TMPDIR=/run sh $me"
	ca >"$scratch/ca"
	[ "$(sha256 <"$scratch/ca")" = "$ca_sha256" ] || refuse "the CA in this script is not what certrot wrote into it" "copy it again"
	bodies <"$scratch/ca" >"$scratch/wanted" || refuse "the CA in this script can't be read" "copy it again"
	host_text=$(host_sh)
}

# identified refuses a machine that is not the node: by its kubelet's client
# certificate, else by its name.
identified() {
	if [ -r "$client" ] && named=$(awk '/^-----BEGIN CERTIFICATE-----$/ { on = 1 } on { print } /^-----END CERTIFICATE-----$/ { exit }' "$client" | bodies | dates) && [ -n "$named" ]; then
		named=${named#* * }
		[ "$named" = "system:node:$node" ] || refuse "this machine is another node: its kubelet is $named, and this script is for $node" "take the script of this node"
		return
	fi
	short=$(uname -n | tr '[:upper:]' '[:lower:]')
	[ "${short%%.*}" = "$(printf '%s' "${node%%.*}" | tr '[:upper:]' '[:lower:]')" ] ||
		refuse "this machine calls itself $short, its kubelet's certificate can't be read, and this script is for $node" "take the script of this node"
}

# host does one thing to the node: it sets answer to what it found, and returns 1 with
# why where it failed.
host() {
	answer=$(/bin/sh -c 'eval "$1"' certrot "$host_text" "$@") || { why="/bin/sh failed"; return 1; }
	whole=$answer
	answer=${answer%?end}
	last=$(printf '%s\n' "$answer" | tail -n 1)
	case $whole in
	'certrot-host 1'*end) ;;
	*) last='fail unknown its answer is not whole' ;;
	esac
	case $last in
	'done '*) ;;
	*)
		why=${last#fail }
		why=${why#* } # without its code
		return 1
		;;
	esac
}

# unit sets pid, state and entered (seconds since 1970) of the kubelet.
unit() {
	host unit kubelet.service || return 1
	tell() { printf '%s\n' "$answer" | awk -v key="$1=" 'index($0, key) == 1 { print substr($0, length(key) + 1) }'; }
	pid=$(tell MainPID) state=$(tell ActiveState)/$(tell SubState) entered=0
	stamp=$(tell ActiveEnterTimestamp)
	stamp=${stamp#* }
	stamp=${stamp% UTC}
	[ -z "$stamp" ] || entered=$(date -u -d "$stamp" +%s 2>/dev/null) || entered=0
}

# machine prints what certrot calls this machine: host name, boot and PID namespace, by
# which a process ID is of one process. It prints nothing where these are not to be had.
machine() {
	boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) && processes=$(readlink /proc/self/ns/pid 2>/dev/null) || return 0
	of=$(printf '%s\n%s\n\n%s' "$(uname -n)" "$boot" "$processes" | sha256)
	printf '%.32s\n' "$of"
}

# gone tells whether who said BY, "USER@HOST (pid PID of MACHINE) ...", was a process of
# this machine, and is no more. In doubt it is there.
gone() {
	here=$(machine)
	case $1 in
	*' (pid '*' of '*')'*) ;;
	*) return 1 ;;
	esac
	of=${1#*' (pid '}
	number=${of%%' of '*}
	of=${of#*' of '}
	case $number in
	'' | 0* | *[!0-9]*) return 1 ;;
	esac
	[ -n "$here" ] && [ "${of%%')'*}" = "$here" ] && ! kill -0 "$number" 2>/dev/null
}

# busy sets by to somebody else who holds this node, and for to since when.
busy() {
	by='' for=''
	held=$(printf '%s\n' "$answer" | awk '$1 == "held" { print; exit }')
	[ -n "$held" ] || return 1
	held=${held#held }
	for=${held%% *} by=${held#* }
}

taken() { refuse "$by changes this node, since ${for}s" "wait for their end; it is let go after $hold_seconds s at the latest. If they are known to be gone: rm $folder/.held"; }

# alone refuses a node that somebody else holds; in a dry run it says so.
alone() {
	host who "$folder" "$hold_seconds" || refuse "who else changes this node is not known: $why" "look at $folder"
	busy && ! gone "$by" || return 0
	[ -z "$dry" ] || { readable "Not now: $by changes this node, since ${for}s."; return 0; }
	taken
}

# keep keeps others off, until the end.
keep() {
	holder="$(printf '%s' "${SUDO_USER:-$(id -un 2>/dev/null || echo root)}" | tr -c 'A-Za-z0-9._-' '?')@$(uname -n) (pid $$ of $(machine)), run $run by its script"
	! host keep "$folder" "$holder" '' "$hold_seconds" || return 0
	if busy && gone "$by"; then
		! host keep "$folder" "$holder" "$by" "$hold_seconds" || return 0
	fi
	holder=''
	! busy || taken
	refuse "others can't be kept off this node: $why" "look at $folder: is the disk full, or read-only?"
}

# swept removes what a killed start of this script left, where nothing else is to be done:
# all that takes hold of the node does.
swept() {
	[ -z "$dry" ] || return 0
	for rest in "$folder/.held" "$folder/$run/pending" "$folder/$run/tmp-"??????; do
		[ -f "$rest" ] || continue
		case $rest in
		*/.held) grep -q -F "), run $run by its script" "$rest" || continue ;;
		esac
		keep
		return
	done
}

# flags refuses a kubelet that works with other files.
flags() {
	[ "${pid:-0}" != 0 ] && [ -r "/proc/$pid/cmdline" ] || { echo "Which kubeconfigs the kubelet uses is not known, since it does not run: $setup's are taken."; return; }
	tr '\0' '\n' <"/proc/$pid/cmdline" >"$scratch/cmdline"
	for flag in "bootstrap-kubeconfig $bootstrap" "kubeconfig $own"; do
		used=$(awk -v flag="--${flag%% *}" 'before == flag { print; exit } index($0, flag "=") == 1 { print substr($0, length(flag) + 2); exit } { before = $0 }' "$scratch/cmdline")
		[ -z "$used" ] || [ "$used" = "${flag#* }" ] || refuse "the kubelet runs with --${flag%% *} $used, and this script is for ${flag#* }" "this node is not set up as others are: mend it by hand"
	done
}

# verified refuses to go on unless a server shows what these CAs verify: CAS SERVER
verified() {
	address=${2#https://}
	address=${address%/}
	case $address in
	*]) address=$address:443 ;;
	*:*) ;;
	*) address=$address:443 ;;
	esac
	name=${address%:*}
	name=${name#[}
	name=${name%]}
	unnamed="its certificate does not have $name among its subjectAltNames, which the kubelet wants"
	if has openssl; then
		by=openssl check=-verify_hostname
		case $name in
		*:*) check=-verify_ip ;;
		*[!0-9.]*) ;;
		*) check=-verify_ip ;;
		esac
		sni="-servername $name"
		[ $check = -verify_hostname ] || sni=''
		# No CA of the machine counts, and one that is no root does. What decides is how
		# openssl ends, which verifies or breaks off: what it prints has names in it that
		# the server chose, and of a TLS 1.2 handshake that was broken off it prints the
		# code 0, too. Lines, which no name can begin, count beside that.
		status=0
		# shellcheck disable=SC2086 # two words, or none
		said=$(limited env SSL_CERT_FILE=/dev/null SSL_CERT_DIR=/nonexistent openssl s_client -verify 9 -verify_return_error -connect "$address" $sni $check "$name" -partial_chain -CAfile "$1" </dev/null 2>&1) || status=$?
		case "$status$nl$said$nl" in
		*"${nl}verify error:"* | *"${nl}no peer certificate available$nl"*) wrong=$(printf '%s\n' "$said" | awk '/^verify error:/ { print; exit }') ;;
		"0$nl"*"${nl}Verify return code: 0 (ok)$nl"* | "0$nl"*"${nl}    Verify return code: 0 (ok)$nl"*)
			# It takes a common name, too, where there is no other name; of an address it does not.
			[ $check = -verify_ip ] && return
			named "$said" "$name" && return
			wrong=$unnamed
			;;
		*) wrong='' ;;
		esac
		[ -n "$wrong" ] || refuse "what is shown at $address is not known: $(printf '%s\n' "$said" | awk 'NF && !/^verify depth is/ { print; exit }')" "is the API server up behind that name?"
		said=$wrong
	elif has curl; then
		by=curl
		mkdir -p "$scratch/none"
		status=0
		said=$(curl -q -sS -v -o /dev/null --noproxy '*' --max-time 20 --cacert "$1" --capath "$scratch/none" "https://$address/readyz" 2>&1) || status=$?
		# It takes a common name where there is no other name, and older ones take '*' within
		# a label. It says so, in lines that no name can remove.
		[ "$status" != 0 ] || ! printf '%s\n' "$said" | awk '
		/common name: .*\(matched\)/ || /match(ed|es) cert.s "([^"*]+\*|\*[^.])/ { other = 1 }
		/subjectAltName: / { alternative = 1 }
		END { exit !(alternative && !other) }' || return 0
		case $status in
		0) said=$unnamed ;;
		*) said=$(printf '%s\n' "$said" | awk '/^curl: \(/ { last = $0 } END { print last }') ;;
		esac
		case $status in
		0 | 60 | 51) ;;
		*) refuse "what is shown at $address is not known: $said" "is the API server up behind that name?" ;;
		esac
	else
		case $risks in
		*' unverified-server '*)
			echo "Accepted: there is neither openssl nor curl, so nothing says whether the CA verifies what is shown at $address."
			return
			;;
		esac
		refuse "there is neither openssl nor curl on this machine, so whether the CA verifies what is shown at $address is not known" "compare the CA with what the server shows from another machine, then: --accept-risk=unverified-server"
	fi
	[ "${3-}" = '' ] || return 1
	refuse "the CA does not verify what is shown at $address: $said (by $by)" "the server side must be right first; or make this script anew, with the CA of now"
}

limited() {
	if has timeout; then
		timeout 20 "$@"
	else
		"$@"
	fi
}

# ---- what it does -----------------------------------------------------------------

# plan says what would become of a file. It leaves the value in SCRATCH/value-WHICH, if
# there is something to do; and sets was_WHICH: FILE WHICH EXPECTED
plan() {
	sha=$(sha256 <"$1") || refuse "$1 can't be read"
	known "$1" "$scratch/old" || refuse "$1: $why" "it is of no shape that this script knows: mend it with certrot itself (--local), or by hand"
	verified "$scratch/ca" "$server"
	missing=0
	while read -r body; do
		grep -qxF -e "$body" "$scratch/old" || missing=1
	done <"$scratch/wanted"
	if [ "$missing" = 0 ]; then
		echo "$1: so already"
		return
	fi
	[ -z "$3" ] || [ "$sha" = "$3" ] || refuse "$1 is not what it was when this script was made (sha256 $3, now $sha)" "make the script anew"
	trusted "$scratch/old" "$scratch/new" || refuse "$1: a CA in it can't be read"
	# What a full disk cut short is not what is written.
	bodies <"$scratch/new" >"$scratch/new-bodies" && [ "$(sha256 <"$scratch/new-bodies")" = "$(sha256 <"$scratch/held")" ] &&
		base64 <"$scratch/new" | tr -d '\n' >"$scratch/value-$2" &&
		[ "$(base64 -d <"$scratch/value-$2" | sha256)" = "$(sha256 <"$scratch/new")" ] || refuse "$1: what would be written can't be made in $scratch"
	printf '%s\n' "$sha $offset $length" >"$scratch/at-$2"
	printf -- '--- %s\n+++ %s\n-    certificate-authority-data: (%s characters)\n+    certificate-authority-data: (%s characters)\n' "$1" "$1" "$length" "$(wc -c <"$scratch/value-$2")"
	{
		while read -r body; do
			sign=-
			! grep -qxF -e "$body" "$scratch/new-bodies" || sign=' '
			printf '%s\n' "$body" | list "$sign"
		done <"$scratch/old"
		while read -r body; do
			grep -qxF -e "$body" "$scratch/old" || printf '%s\n' "$body" | list +
		done <"$scratch/new-bodies"
	}
	todo=1
}

# change writes what was planned: FILE WHICH
change() {
	[ -f "$scratch/value-$2" ] || return 0
	read -r sha offset length <"$scratch/at-$2"
	bytes=$(wc -c <"$scratch/value-$2")
	host replace "$folder" "$run" "$1" "$sha" "$offset" "$length" "$((bytes))" "$(sha256 <"$scratch/value-$2")" <"$scratch/value-$2" ||
		stop "$1 was not changed: $why"
	tail -c "+$((offset + 1))" "$1" | head -c "$((bytes))" >"$scratch/is"
	[ "$(sha256 <"$scratch/is")" = "$(sha256 <"$scratch/value-$2")" ] || stop "$1 is not what was written: somebody else changed it"
	echo "$1: written; what it was is in $folder/$run/before-$sha"
}

# due tells whether the kubelet has to read its files again.
due() {
	unit || refuse "how the kubelet runs is not known: $why" "systemctl status kubelet"
	[ "$state" = active/running ] || return 0
	for file in "$bootstrap" "$own"; do
		if [ ! -e "$file" ]; then
			[ "$file" = "$bootstrap" ] || return 0 # it writes it when it starts
			continue
		fi
		changed=$(stat -c %Y "$file") || return 0
		grace=60 # a kubelet writes its own file while it starts
		entry=$folder/$run/file-$(printf '%s' "$file" | sha256)
		[ ! -e "$entry" ] || grace=0
		[ "$changed" -lt $((entered + grace)) ] || return 0
	done
	return 1
}

# restart restarts the kubelet, once, and waits until another process says that it runs.
restart() {
	unit || stop "how the kubelet runs is not known: $why"
	before=$pid
	host restart "$folder" "$run" kubelet.service || stop "the kubelet was not restarted: $why"
	echo "the kubelet restarts ..."
	tries=60
	while
		tries=$((tries - 1))
		# At first it may still be as it was before.
		[ "$tries" -gt 50 ] || { [ "$tries" -gt 0 ] && [ "$state" != failed/failed ]; } || stop "the kubelet does not come up: $state; journalctl -u kubelet -n 50"
		sleep 1
		! unit || [ "$state" != active/running ] || [ "$pid" = "$before" ] || [ "${pid:-0}" = 0 ]
	do :; done
	first=$pid
	sleep 3
	unit && [ "$state" = active/running ] && [ "$pid" = "$first" ] || stop "the kubelet came up and ended again: $state; journalctl -u kubelet -n 50"
	echo "the kubelet runs, as process $pid"
}

consent() {
	[ -z "$yes" ] || return 0
	[ -t 0 ] || refuse "nobody can be asked here" "look at what it would do, then: sh $me ${1:+$1 }--yes"
	printf 'Do this? Type yes to go on: '
	read -r reply || reply=''
	[ "$reply" = yes ] || refuse "the answer was not yes"
}

forward() {
	todo=''
	unit || refuse "how the kubelet runs is not known: $why" "systemctl status kubelet"
	flags
	alone
	[ -e "$bootstrap" ] || [ -e "$own" ] || refuse "neither $bootstrap nor $own is there" "is this a node of the cluster?"
	if [ -e "$bootstrap" ]; then
		plan "$bootstrap" bootstrap "$bootstrap_was"
	elif [ -n "$joins" ]; then
		echo "$bootstrap is not there: $setup deletes it when a node has joined."
	else
		echo "$bootstrap is not there: should the kubelet have to join anew, it can't."
	fi
	if [ -e "$own" ]; then
		plan "$own" own "$own_was"
	else
		echo "$own is not there: the kubelet writes it, from $bootstrap, when it starts."
	fi
	if [ -z "$todo" ] && ! due; then
		swept
		echo "Nothing is to be done on $node."
		return
	fi
	echo "then: restart kubelet.service, once; pods go on running"
	[ -z "$dry" ] || exit 1
	consent ''
	keep
	change "$bootstrap" bootstrap
	change "$own" own
	restart
	echo "Done. Does it report again? From anywhere else: kubectl get node $node; kubectl get csr. To go back: sh $me undo"
}

back() {
	[ -d "$folder/$run" ] || { echo "This script has changed nothing here: nothing to put back."; return; }
	todo=''
	alone
	for file in "$own" "$bootstrap"; do
		entry=$folder/$run/file-$(printf '%s' "$file" | sha256)
		[ -f "$entry" ] || continue
		was=$(awk '$1 == "before" { print $2 }' "$entry")
		[ -f "$file" ] || refuse "$file is gone" "what it was is in $folder/$run/before-$was"
		is=$(sha256 <"$file")
		[ "$is" != "$was" ] || { echo "$file: already as it was"; continue; }
		case " $(awk '$1 == "after"' "$entry") " in
		*" $is "*) ;;
		*) refuse "$file was changed after this script changed it: putting back what was before would undo that, too" "what it was is in $folder/$run/before-$was" ;;
		esac
		echo "$file: becomes what it was, sha256 $was"
		todo=1
		known "$folder/$run/before-$was" "$scratch/old" || refuse "$folder/$run/before-$was: $why"
		case $risks in
		*' breaks-trust '*) ;;
		*) verified "$scratch/pem" "$server" undo || refuse "what was there before does not trust what is shown at $server: the node would be lost" "leave it as it is; or: sh $me undo --accept-risk=breaks-trust" ;;
		esac
	done
	if [ -z "$todo" ] && ! due; then
		swept
		echo "Nothing is to be put back on $node."
		return
	fi
	echo "then: restart kubelet.service, once; pods go on running"
	[ -z "$dry" ] || exit 1
	consent undo
	keep
	for file in "$own" "$bootstrap"; do
		[ -f "$folder/$run/file-$(printf '%s' "$file" | sha256)" ] || continue
		host restore "$folder" "$run" "$file" || stop "$file was not put back: $why"
		echo "$file: as it was"
	done
	restart
	echo "Done: the files are what they were."
}

main() {
	what=forward dry='' yes='' risks=' '
	for word; do
		case $word in
		undo) what=back ;;
		--dry-run) dry=1 ;;
		--yes) yes=1 ;;
		--accept-risk=unverified-server | --accept-risk=breaks-trust) risks="$risks${word#*=} " ;;
		*) usage ;;
		esac
	done
	prepare
	identified
	$what
}

# The last line calls it: of a script that was not copied whole, nothing runs.
main "$@"
