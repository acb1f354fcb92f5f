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
#   file-SHA256      an entry: one file that the run changed or removed; of its path
#   link-SHA256      an entry: one symbolic link that the run removed; of its path
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
# which its backup is missing.
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

# ---- how an operation exits -------------------------------------------------

# finish reports success: "changed" or "same".
finish() {
	printf 'done %s\n' "$1"
	exit 0
}

# fail reports one of the codes changed, refused, busy, norun, failed and
# unknown, and why.
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

# lock keeps other runs off until the operation is over. Where there is no flock,
# what guards is that no file is replaced that is not as it was read.
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
		# Of what the run made of it, - is that it removed it.
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

# putback reports success: what is at the path is as it was before the run, by what it did now.
putback() {
	yield || fail unknown "it was put back, and that may not be noted in $run: $message"
	printf '%s\n' "$result"
	finish changed
}

# already reports success: what is at the path is as it was before the run. Where a later
# run made it so, this one's change is beneath that, and still to be put back.
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
hold() { found="$kind $links $sha $size $mode $uid $gid $label"; }

# swap gives the new file the old one's name, if that is what it was.
swap() {
	result=$(show)
	state "$path"
	[ "$kind" = regular ] && [ "$kind $links $sha $size $mode $uid $gid $label" = "$found" ] ||
		changed "another program changed it just now"
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
	[ "$sha" = "$before" ] || changed "its content is not what was read"
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
			changed "another program changed it after this run did, so this run can't put back what it was: change it in a new run"
			;;
		esac
		first=$e_sha w_size=$e_size after=$e_after
	fi

	made=$(mktemp "$run/tmp-XXXXXX" 2>&1) || fail failed "make a file in $run: $made"
	draft=$made
	try "copy it to $run" copy "$path" "$draft"
	if ! sum "$draft" || [ "$sha" != "$before" ]; then
		state "$path"
		[ "$kind $sha" = "regular $before" ] || changed "another program changed it just now"
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

# aside: FOLDER ID PATH BEFORE. Removes a file of that sha256; its bytes are in the run's
# folder, on the disk, before that.
aside() {
	folder=$1 id=$2 path=$3 before=$4
	run=$folder/$id
	gone "$path" "$before"
	plain
	[ "$sha" = "$before" ] || changed "its content is not what was read"
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
		[ "$kind $sha" = "regular $before" ] || changed "another program changed it just now"
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
	[ "$kind" = regular ] && [ "$kind $links $sha $size $mode $uid $gid $label" = "$found" ] ||
		changed "another program changed it just now"
	unname
}

# gone reports success if a path has nothing, and this run removed it; with BEFORE empty,
# the path of a link. Else state is that of the path.
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

# unname removes the name, for good.
unname() {
	if ! message=$(rm -f "$path" 2>&1); then
		facts "$path"
		[ "$kind" = absent ] || fail failed "remove $path: ${message:-rm says nothing more}"
		fail unknown "remove $path: ${message:-rm says nothing more}"
	fi
	fresh=''
	message=$(sync "${path%/*}/" 2>&1) || fail unknown "it was removed, but that may not be on the disk: $message"
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

# unlink: FOLDER ID PATH TARGET. Removes a symbolic link that says TARGET. What it leads
# to stays.
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
	[ "$target" = "$4" ] || changed "another program changed it just now"
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
	noted "did not remove it"
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

# restore: FOLDER ID PATH [OVER]. Where the run removed the file, and another one has its
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
		recreate
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

# recreate puts a file back that is not there.
recreate() {
	note pending "$path"
	pending=$run/pending
	made=$(mktemp "${path%/*}/.certrot-$id-XXXXXX" 2>&1) || fail failed "make the new file beside it: $made"
	temp=$made
	try "write the new file" copy "$run/before-$e_sha" "$temp"
	dress "$e_mode" "$e_uid" "$e_gid" "$e_label"
	[ "$sha" = "$e_sha" ] || fail failed "write the new file: it differs from $run/before-$e_sha"
	result=$(show)
	# A link, other than a rename, replaces no other file.
	message=$(ln "$temp" "$path" 2>&1) || {
		state "$path"
		[ "$kind" = absent ] || changed "another program created it just now"
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
# is empty where it has no holder: none is noted, none since the node was restarted, or
# none for SECONDS: FOLDER SECONDS
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

# who: FOLDER SECONDS. The holder of this node, if it has one.
who() {
	own "$1" || finish same
	keeper "$@"
	[ -z "$h_by" ] || printf 'locked %s %s\n' "$age" "$h_by"
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
		printf 'locked %s %s\n' "$age" "$h_by"
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

# release: FOLDER HOLDER. Another holder's file stays.
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
		fail refused "$file is not from certrot: look at it, and move it out of this folder"
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
	properties=$(systemctl show -p Id,LoadState,ActiveState,SubState,Result,MainPID,ActiveEnterTimestamp,NRestarts,NeedDaemonReload -- "$1" 2>&1) ||
		fail failed "systemctl show $1: $properties"
	now=$(date +%s.%N)
	case $now in
	*[!0-9.]*) now=$(date +%s) ;; # busybox knows no nanoseconds
	esac
	printf 'now %s\n%s\n' "$now" "$properties"
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

# follows fails where the run removed a file and another program created one of that name
# since, as a kubelet does that bootstrapped again: the others belong to that one by now.
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
	fail changed "$e_path was created again after this run removed it; what it was is in $here/before-$e_sha"
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
